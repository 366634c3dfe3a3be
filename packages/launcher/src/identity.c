#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "identity.h"
#include "options.h"
#include "proc.h"
#include "report.h"

/*
 * Boundary: never host uid 0. The kernel grants access to its sysctls by global uid, not by capability, so a command
 * that is root outside its user namespace can take over the host without any capability.
 */
bool is_host_root(void)
{
    uint64_t self = geteuid();
    int file = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    if (file < 0) return self == 0;
    bool found = false, is_root = false;
    read_from(file);
    for (char *line; (line = next_line()) != NULL;) {
        uint64_t inside, outside, count;
        if (!read_number(next_word(&line), 0, UINT32_MAX, &inside)) continue;
        if (!read_number(next_word(&line), 0, UINT32_MAX, &outside)) continue;
        if (!read_number(next_word(&line), 0, UINT32_MAX, &count)) continue;
        if (self < inside || self - inside >= count) continue;
        found = true;
        is_root = outside + (self - inside) == 0;
    }
    (void)close(file);
    struct stat proc;
    /* In a nested namespace the map shows only the parent namespace. /proc itself belongs to the root of the host. */
    if (found && is_root && stat("/proc", &proc) == 0) return proc.st_uid == geteuid();
    return found ? is_root : self == 0;
}

/* What cannot be dropped for lack of CAP_SETPCAP is not held either. */
static void drop_bounding_set(void)
{
    for (unsigned long capability = 0; capability < 64; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) break;
}

void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    drop_bounding_set();
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    must(syscall(SYS_capset, &header, none) == 0, "capabilities");
}

void take_identity(void)
{
    if (plan.uid == 0) return;
    uid_t uid = (uid_t)plan.uid, ids[3];
    gid_t gid = (gid_t)plan.gid, groups[3];
    drop_bounding_set();
    must(setgroups(0, NULL) == 0, "groups");
    must(setresgid(gid, gid, gid) == 0, "gid");
    must(setresuid(uid, uid, uid) == 0, "uid");
    /* Boundary: checked and tried rather than trusted, because everything after it depends on it. */
    must(getresuid(&ids[0], &ids[1], &ids[2]) == 0 && getresgid(&groups[0], &groups[1], &groups[2]) == 0, "uid");
    for (size_t i = 0; i < 3; i++)
        if (ids[i] != uid || groups[i] != gid) fail("uid", EPERM);
    if (getgroups(0, NULL) != 0 || setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0) fail("uid", EPERM);
}

void require_no_host_root(void)
{
    if (!is_host_root()) return;
    refuse("uid", "is that of the host's root, and a command is never host uid 0", "uid and gid of another user");
}
