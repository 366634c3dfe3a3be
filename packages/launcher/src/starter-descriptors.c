#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel.h"
#include "proc.h"
#include "report.h"
#include "starter.h"
#include "workspace.h"

enum { MAX_MAPS = 8 };

/* A descriptor of the gateway, opened again, so that the run shares neither its position nor its flags. */
static int open_of_gateway(const char *text, int access, struct start *start)
{
    uint64_t number;
    TEXT(name, 32);
    TEXT(path, 64);
    require_valid_request(read_number(text, 0, MAX_DESCRIPTOR, &number));
    add(&name, "fd/");
    add_number(&name, number);
    /* Boundary: O_PATH does not involve the file system; one that hangs would block all other runs. */
    int file = open(path_of(&path, service.gateway, string_of(&name)), O_PATH | O_CLOEXEC);
    int error = errno;
    /* Boundary: the gateway is still the parent, so the pid in the path was its own when the file was opened. */
    if (getppid() != service.gateway) exit_starter(0);
    errno = error;
    start->access[start->descriptor_count] = access;
    return file;
}

/* Descriptors that the starter opened with O_PATH are opened fully by their run. */
int open_held(int held, int access)
{
    TEXT(path, 64);
    add(&path, "/proc/self/fd/");
    add_number(&path, (uint64_t)held);
    /* Never waits for the other end of a named pipe. */
    int file = open(string_of(&path), access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    must(file >= 0 && fcntl(file, F_SETFL, 0) == 0, "descriptors");
    (void)close(held);
    return file;
}

/* A sealed file in memory, and a read-only descriptor of it. */
static int open_bytes(const char *bytes, size_t length)
{
    TEXT(path, 64);
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int file = memfd_create("palisade", flags | MEMFD_NOEXEC_SEAL), again = -1;
    /* Before Linux 6.3. */
    if (file < 0 && errno == EINVAL) file = memfd_create("palisade", flags);
    if (file < 0) return -1;
    bool is_whole = true;
    while (is_whole && length > 0) {
        ssize_t count = write(file, bytes, length);
        if (count < 0 && errno == EINTR) continue;
        is_whole = count > 0;
        if (is_whole) {
            bytes += count;
            length -= (size_t)count;
        }
    }
    if (is_whole && fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0) {
        add(&path, "/proc/self/fd/");
        add_number(&path, (uint64_t)file);
        again = open(string_of(&path), O_RDONLY | O_CLOEXEC);
    }
    int error = errno;
    (void)close(file);
    errno = error;
    return again;
}

static int open_channel(struct start *start, enum channel_kind kind)
{
    int ends[2];
    /* Boundary: one of each kind for each run, and only if the gateway can receive what comes. */
    require_valid_request(service.handles >= 0 && start->channels[kind] < 0);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    start->channels[kind] = ends[0];
    return ends[1];
}

static int open_end(struct start *start, bool is_read_by_run)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    start->ends[start->end_count++] = ends[is_read_by_run ? 1 : 0];
    return ends[is_read_by_run ? 0 : 1];
}

static struct {
    struct map_ids ids;
    int map;
    uint64_t used;
} maps[MAX_MAPS];

static bool is_same_map(const struct map_ids *a, const struct map_ids *b)
{
    return a->owner_uid == b->owner_uid && a->owner_gid == b->owner_gid && a->uid == b->uid && a->gid == b->gid;
}

/* A cached user namespace for these ids; the least recently used one is replaced. */
static int open_kept_map(const struct map_ids *ids)
{
    static uint64_t clock = 0;
    size_t at = 0;
    for (size_t i = 0; i < MAX_MAPS; i++) {
        if (maps[i].used != 0 && is_same_map(&maps[i].ids, ids)) {
            at = i;
            break;
        }
        if (maps[i].used < maps[at].used) at = i;
    }
    if (maps[at].used == 0 || !is_same_map(&maps[at].ids, ids)) {
        int map = make_map(ids);
        if (map < 0) return -1;
        if (maps[at].used != 0) (void)close(maps[at].map);
        maps[at].ids = *ids;
        maps[at].map = map;
    }
    maps[at].used = ++clock;
    return fcntl(maps[at].map, F_DUPFD_CLOEXEC, 3);
}

static int open_map_of(char *text)
{
    uint64_t numbers[4];
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char *colon = strchr(text, ':');
        require_valid_request((colon == NULL) == (i + 1 == COUNT(numbers)));
        if (colon != NULL) *colon = '\0';
        require_valid_request(read_number(text, 0, UINT32_MAX - 1, &numbers[i]));
        if (colon != NULL) text = colon + 1;
    }
    const struct map_ids ids = {numbers[0], numbers[1], numbers[2], numbers[3]};
    return open_kept_map(&ids);
}

static int open_next_bytes(const char *text, struct start *start)
{
    uint64_t length;
    require_valid_request(read_number(text, 0, start->byte_count, &length));
    const char *bytes = start->bytes;
    start->bytes += length;
    start->byte_count -= (size_t)length;
    return open_bytes(bytes, (size_t)length);
}

/* Opens the descriptor that a request names; `step` is its name in a failure. */
int open_descriptor(char *argument, struct start *start, const char **step)
{
    char *colon = strchr(argument, ':');
    char *value = colon == NULL ? NULL : colon + 1;
    *step = argument;
    if (colon != NULL) *colon = '\0';
    if (value == NULL && strcmp(argument, "null") == 0) return open("/dev/null", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (value == NULL && strcmp(argument, "out") == 0) return open_end(start, false);
    if (value == NULL && strcmp(argument, "in") == 0) return open_end(start, true);
    if (value == NULL && strcmp(argument, "handles") == 0) return open_channel(start, LISTENERS);
    if (value == NULL && strcmp(argument, "sockets") == 0) return open_channel(start, SOCKETS);
    require_valid_request(value != NULL);
    if (strcmp(argument, "read") == 0) return open_of_gateway(value, O_RDONLY, start);
    if (strcmp(argument, "write") == 0) return open_of_gateway(value, O_WRONLY, start);
    if (strcmp(argument, "bytes") == 0) return open_next_bytes(value, start);
    require_valid_request(strcmp(argument, "map") == 0);
    return open_map_of(value);
}
