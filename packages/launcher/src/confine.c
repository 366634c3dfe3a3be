#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine.h"
#include "kernel.h"
#include "options.h"
#include "report.h"

enum { MAX_FILTER = 4096 };
static struct sock_filter filter[MAX_FILTER + 1];
static struct sock_fprog filter_program = {0, filter};

void read_filter(void)
{
    size_t length = 0;
    if (plan.seccomp == 0) return;
    for (;;) {
        ssize_t count = read((int)plan.seccomp, (char *)filter + length, sizeof filter - length);
        if (count < 0 && errno == EINTR) continue;
        must(count >= 0, "seccomp-read");
        if (count == 0) break;
        length += (size_t)count;
        if (length == sizeof filter) fail("seccomp-read", E2BIG);
    }
    if (length == 0 || length % sizeof filter[0] != 0) fail("seccomp-read", EINVAL);
    filter_program.len = (unsigned short)(length / sizeof filter[0]);
    (void)close((int)plan.seccomp);
}

/* Opens a directory. Boundary: another one than the judged one, by whatever name or link, is not used. */
static int open_place(const struct place *place, const char *step)
{
    struct stat status;
    int found = open(place->path, O_PATH | O_CLOEXEC);
    must(found >= 0 && fstat(found, &status) == 0, step);
    if (place->is_judged && (status.st_dev != place->device || status.st_ino != place->inode)) fail(step, ESTALE);
    return found;
}

void enter_directory(void)
{
    if (plan.cwd.path == NULL) return;
    int directory = open_place(&plan.cwd, "cwd");
    must(fchdir(directory) == 0, "cwd");
    (void)close(directory);
}

static int landlock_abi(void)
{
    long abi = syscall(NR_landlock_create_ruleset, NULL, 0, 1);
    return abi < 0 ? 0 : (int)abi;
}

int landlock_applied = 0;

void restrict_files(void)
{
    if (plan.rule_count == 0) return;
    int abi = landlock_abi();
    if (abi < 1) fail("landlock", ENOSYS);
    struct kernel_landlock_ruleset handled = {LL_FIRST_ABI, abi >= 4 ? LL_TCP : 0, abi >= 6 ? LL_SCOPES : 0};
    if (abi >= 2) handled.files |= LL_REFER;
    if (abi >= 3) handled.files |= LL_TRUNCATE;
    if (abi >= 5) handled.files |= LL_IOCTL_DEV;
    int ruleset = (int)syscall(NR_landlock_create_ruleset, &handled, sizeof handled, 0);
    must(ruleset >= 0, "landlock");
    for (size_t i = 0; i < plan.rule_count; i++) {
        struct stat status;
        int path = open_place(&plan.rules[i].place, "landlock-path");
        must(fstat(path, &status) == 0, "landlock-path");
        uint64_t allowed = plan.rules[i].writable ? handled.files : LL_READ;
        /* The kernel refuses directory rights on anything else. */
        if (!S_ISDIR(status.st_mode)) allowed &= LL_OF_FILES;
        struct kernel_landlock_beneath beneath = {allowed, path};
        must(syscall(NR_landlock_add_rule, ruleset, LL_RULE_BENEATH, &beneath, 0) == 0, "landlock-rule");
        (void)close(path);
    }
    /* Of the network, only the ports on which the gateway accepts. */
    for (size_t i = 0; handled.network != 0 && i < plan.listener_count; i++) {
        struct kernel_landlock_port port = {LL_CONNECT_TCP, plan.listeners[i].port};
        must(syscall(NR_landlock_add_rule, ruleset, LL_RULE_PORT, &port, 0) == 0, "landlock-rule");
    }
    must(syscall(NR_landlock_restrict_self, ruleset, 0) == 0, "landlock");
    (void)close(ruleset);
    landlock_applied = abi;
}

void limit_resources(void)
{
    const struct rlimit no_core = {0, 0};
    must(setrlimit(RLIMIT_CORE, &no_core) == 0, "rlimit-core");
    for (size_t i = 0; i < COUNT(rlimits); i++) {
        if (rlimits[i].value == 0) continue;
        const struct rlimit both = {rlimits[i].value, rlimits[i].value};
        must(setrlimit((resource_number)rlimits[i].resource, &both) == 0, "rlimit");
    }
}

void apply_filter(void)
{
    if (filter_program.len > 0)
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter_program, 0, 0) == 0, "seccomp");
}
