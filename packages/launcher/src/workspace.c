#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "kernel.h"
#include "namespaces.h"
#include "options.h"
#include "proc.h"
#include "report.h"
#include "workspace.h"

/* Forks a process that only keeps a new user namespace alive until `hold` is closed; -1 if that fails. */
static pid_t fork_namespace_holder(int hold[2])
{
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) != 0) return -1;
    pid_t child = fork();
    if (child == 0) {
        (void)close(hold[1]);
        if (unshare(CLONE_NEWUSER) == 0) write_all(ready[1], "1", 1);
        (void)close(ready[1]);
        (void)read(hold[0], &byte, 1);
        _exit(0);
    }
    int error = errno;
    close_one(&ready[1]);
    /* If that failed, the kernel refuses the maps below. */
    if (child > 0) (void)read(ready[0], &byte, 1);
    close_one(&ready[0]);
    errno = error;
    return child;
}

/* A user namespace only for its map: the owner on disk is the user of the run, and no other id is mapped; or -1. */
int make_map(const struct map_ids *ids)
{
    int hold[2], map = -1;
    TEXT(path, 64);
    if (pipe2(hold, O_CLOEXEC) != 0) return -1;
    pid_t child = fork_namespace_holder(hold);
    if (child > 0 && put_map(path_of(&path, child, "uid_map") + strlen("/proc/"), ids->owner_uid, ids->uid) &&
        put_map(path_of(&path, child, "gid_map") + strlen("/proc/"), ids->owner_gid, ids->gid))
        map = open(path_of(&path, child, "ns/user"), O_RDONLY | O_CLOEXEC);
    int error = errno;
    close_both(hold);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    errno = error;
    return map;
}

static int open_map(void)
{
    const struct map_ids ids = {plan.owner_uid, plan.owner_gid, plan.uid, plan.gid};
    int map = plan.map != 0 ? (int)plan.map : make_map(&ids);
    must(map >= 0, "workspace-map");
    return map;
}

static char workspace_path[PATH_MAX];

static void find_workspace(int directory)
{
    TEXT(link, 64);
    add(&link, "/proc/self/fd/");
    add_number(&link, (uint64_t)directory);
    ssize_t length = readlink(string_of(&link), workspace_path, sizeof workspace_path - 1);
    must(length >= 0, "workspace-path");
    workspace_path[length] = '\0';
}

/* Opens, in the new mount namespace, the directory of the old descriptor, and no other one of the same name. */
static int open_again(int directory)
{
    struct stat here, there;
    int again = open(workspace_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    must(again >= 0 && fstat(again, &here) == 0 && fstat(directory, &there) == 0, "workspace-path");
    /* Boundary: a directory that was replaced since the gateway opened it is not mounted over. */
    if (here.st_dev != there.st_dev || here.st_ino != there.st_ino) fail("workspace-path", ESTALE);
    return again;
}

/*
 * A mount point that the next stage, which runs as an ordinary user, can reach: the workspace may be below a directory
 * that it cannot enter, and bubblewrap resolves a descriptor to its path. The namespace no longer shows what was there.
 */
static int open_reachable(void)
{
    int place = open("/dev/shm", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    must(place >= 0, "workspace-place");
    return place;
}

void mount_workspace(void)
{
    if (plan.workspace == 0) return;
    int directory = (int)plan.workspace, map = open_map();
    /* Cloned first: a mount of another mount namespace, as it is after the next step, cannot be cloned. */
    int tree = (int)syscall(NR_open_tree, directory, "", AT_EMPTY_PATH | OPEN_TREE_CLONE_FLAG | O_CLOEXEC);
    must(tree >= 0, "workspace-clone");
    struct kernel_mount_attr attributes = {ATTR_IDMAP | ATTR_NOSUID | ATTR_NODEV, 0, 0, (uint64_t)map};
    must(syscall(NR_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0, "workspace-idmap");
    find_workspace(directory);
    must(unshare(CLONE_NEWNS) == 0, "mount-namespace");
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private-mounts");
    int target = plan.exec_in_place ? open_reachable() : open_again(directory);
    must(syscall(NR_move_mount, tree, "", target, "", MOVE_MOUNT_FROM_FD | MOVE_MOUNT_TO_FD) == 0, "workspace-mount");
    must(dup3(tree, directory, O_CLOEXEC) == directory, "workspace-mount");
    if (plan.chdir != 0) must(fchdir(directory) == 0, "chdir");
    (void)close(target);
    (void)close(tree);
    (void)close(map);
}
