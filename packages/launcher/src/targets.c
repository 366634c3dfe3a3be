#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "options.h"
#include "proc.h"
#include "targets.h"

/* Sockets that are remembered on each side, so that a listener there sees one empty connection of ours. */
enum { MAX_KNOWN = 64 };

static dev_t own_devices[MAX_OWN];
static size_t own_count;
/* Sockets whose side is known. They are kept open, so that their numbers stay theirs. */
struct known {
    int files[MAX_KNOWN];
    size_t count;
};
static struct known inside, outside;

/* Before the command begins: what it puts in their place later is not asked. One that is not there vouches for nothing. */
void look_at_own(void)
{
    for (size_t i = 0; i < plan.own_count; i++) {
        struct stat status;
        if (stat(plan.own[i], &status) == 0) own_devices[own_count++] = status.st_dev;
    }
}

/* Opens what a path leads to, as the caller sees it: its root is ours, but not its directory and its name in /proc. */
int open_target(pid_t caller, const char *path)
{
    static const char SELF[] = "/proc/self/";
    bool is_self = strncmp(path, SELF, strlen(SELF)) == 0;
    if (path[0] == '/' && !is_self) return open(path, O_PATH | O_CLOEXEC);
    int directory = open_of(caller, 0, is_self ? "" : "cwd", O_PATH | O_DIRECTORY);
    if (directory < 0) return -1;
    int target = openat(directory, is_self ? path + strlen(SELF) : path, O_PATH | O_CLOEXEC);
    int error = errno;
    (void)close(directory);
    errno = error;
    return target;
}

static bool is_among(const struct known *known, const struct stat *status)
{
    for (size_t i = 0; i < known->count && i < MAX_KNOWN; i++) {
        struct stat each;
        if (fstat(known->files[i], &each) == 0 && each.st_dev == status->st_dev && each.st_ino == status->st_ino) return true;
    }
    return false;
}

/* The oldest one makes room. */
static void remember(struct known *known, int target)
{
    int kept = fcntl(target, F_DUPFD_CLOEXEC, 3);
    if (kept < 0) return;
    int *slot = &known->files[known->count % MAX_KNOWN];
    if (known->count >= MAX_KNOWN) (void)close(*slot);
    *slot = kept;
    known->count += 1;
}

/* The opened socket as an address: its name may lead elsewhere by now. */
static socklen_t address_of(int target, struct sockaddr_un *address)
{
    TEXT(path, sizeof address->sun_path);
    add(&path, "/proc/self/fd/");
    add_number(&path, (uint64_t)target);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, string_of(&path), path.length + 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.length + 1);
}

/* Makes a connection without waiting; WAIT if it is under way and the owner of the socket would wait for it. */
int connect_now(int file, const void *address, socklen_t length)
{
    int flags = fcntl(file, F_GETFL);
    bool blocks = (flags & O_NONBLOCK) == 0;
    if (blocks) (void)fcntl(file, F_SETFL, flags | O_NONBLOCK);
    int error = connect(file, address, length) == 0 ? 0 : errno;
    if (blocks) (void)fcntl(file, F_SETFL, flags);
    return blocks && (error == EINPROGRESS || error == EALREADY || error == EAGAIN) ? WAIT : error;
}

static bool would_wait(int file)
{
    return (fcntl(file, F_GETFL) & O_NONBLOCK) == 0;
}

/* Asks the kernel who listens. Boundary: a process outside of this pid namespace is refused, and not asked again. */
int judge_target(int file, int target)
{
    struct stat status;
    struct sockaddr_un address;
    struct ucred peer = {0};
    int type = 0;
    socklen_t size = sizeof type, peer_size = sizeof peer;
    if (fstat(target, &status) != 0) return errno;
    if (!S_ISSOCK(status.st_mode)) return ECONNREFUSED;
    for (size_t i = 0; i < own_count; i++)
        if (own_devices[i] == status.st_dev) return 0;
    if (is_among(&inside, &status)) return 0;
    if (is_among(&outside, &status)) return EACCES;
    if (getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return errno;
    int probe = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return errno;
    int error = connect_now(probe, &address, address_of(target, &address));
    if (error == 0 && getsockopt(probe, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0) error = errno;
    (void)close(probe);
    if (error == EAGAIN && would_wait(file)) return WAIT;
    if (error != 0) return error;
    remember(peer.pid > 0 ? &inside : &outside, target);
    return peer.pid > 0 ? 0 : EACCES;
}

/* Connects a socket to one that was judged. */
int connect_to(int file, int target)
{
    struct sockaddr_un address;
    return connect_now(file, &address, address_of(target, &address));
}
