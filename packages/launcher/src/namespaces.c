#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"
#include "identity.h"
#include "mounts.h"
#include "namespaces.h"
#include "network.h"
#include "options.h"
#include "report.h"

bool put_map(const char *file, uint64_t inside, uint64_t outside)
{
    TEXT(path, 64);
    TEXT(line, 64);
    add(&path, "/proc/");
    add(&path, file);
    add_number(&line, inside);
    add_byte(&line, ' ');
    add_number(&line, outside);
    add(&line, " 1");
    return write_file(string_of(&path), string_of(&line));
}

static void write_map(const char *file, uint64_t inside, uint64_t outside)
{
    must(put_map(file, inside, outside), "user-map");
}

/* Maps one id to itself in the user namespace that this process has just entered. */
static void map_identity(uint64_t uid, uint64_t gid)
{
    /* The /proc files of a process that is not dumpable belong to root; nothing of the command runs here yet. */
    must(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, "dumpable");
    must(write_file("/proc/self/setgroups", "deny"), "user-map");
    write_map("self/uid_map", uid, uid);
    write_map("self/gid_map", gid, gid);
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
}

/*
 * Makes this process the first one of new namespaces. Root creates those of pids, mounts and IPC as root, so that the
 * command owns none of them, whatever it becomes in its user namespace; other users need the user namespace for them.
 */
void enter_namespaces(uid_t uid, gid_t gid)
{
    if (plan.uid == 0) map_identity(uid, gid);
    if (plan.uid == 0 && plan.net != 0) open_network();
    if (plan.workspace == 0) must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private-mounts");
    must(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0, "proc");
    close_groups();
    if (plan.uid != 0) {
        take_identity();
        must(unshare(CLONE_NEWUSER) == 0, "user-namespace");
        map_identity(plan.uid, plan.gid);
    }
    /* The capabilities over the user namespace are dropped once the files of the command are held, before it begins. */
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no-new-privs");
}

/*
 * Enters a new network namespace. Root creates it as root, so that the command owns nothing of it; other users need a
 * user namespace for it: the one that ns=1 creates, or one for this purpose only.
 */
void leave_network(void)
{
    if (plan.net == 0 || (plan.uid == 0 && plan.ns != 0)) return;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    must(unshare(CLONE_NEWNET | (plan.uid == 0 ? CLONE_NEWUSER : 0)) == 0, "net");
    if (plan.uid == 0) map_identity(uid, gid);
    open_network();
    /* Boundary: drops the capabilities of the user namespace before they are used for anything else. */
    if (plan.uid == 0) drop_capabilities();
}

pid_t fork_into_namespaces(void)
{
    /* With a workspace there is already a mount namespace, which the process outside no longer needs. */
    unsigned long flags = CLONE_NEWPID | CLONE_NEWIPC | (plan.workspace == 0 ? CLONE_NEWNS : 0) |
                          (plan.uid == 0 ? CLONE_NEWUSER : 0) |
                          (plan.uid == 0 && plan.net != 0 ? CLONE_NEWNET : 0);
    pid_t child = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
    must(child >= 0, "namespaces");
    return child;
}
