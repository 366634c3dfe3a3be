#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"
#include "kernel.h"
#include "options.h"
#include "report.h"

bool is_unix_stream(int descriptor)
{
    int domain = 0, type = 0;
    socklen_t size = sizeof domain;
    return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
           getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/* A descriptor that is opened later must not become a standard stream. */
void hold_standard_streams(void)
{
    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) >= 0) continue;
        must(open("/dev/null", O_RDWR | O_NOCTTY) == i, "stdio");
    }
}

void close_range_of(uint64_t from, uint64_t to)
{
    if (from > to) return;
    if (syscall(NR_close_range, (unsigned)from, (unsigned)to, 0) == 0) return;
    if (errno != ENOSYS) fail("descriptors", errno);
    /* Before Linux 5.9: one by one. */
    uint64_t last = to > MAX_DESCRIPTOR ? MAX_DESCRIPTOR : to;
    for (uint64_t i = from; i <= last; i++) (void)close((int)i);
}

/* Boundary: whatever the gateway inherited or left open is closed before anything else happens. */
void close_others(void)
{
    uint64_t list[MAX_LISTED], next = 3;
    size_t count = list_descriptors(list);
    for (size_t done = 0; done < count; done++) {
        uint64_t least = UINT32_MAX;
        for (size_t i = 0; i < count; i++)
            if (list[i] >= next && list[i] < least) least = list[i];
        close_range_of(next, least - 1);
        must(fcntl((int)least, F_SETFD, FD_CLOEXEC) == 0, "descriptors");
        next = least + 1;
    }
    close_range_of(next, UINT32_MAX);
}

void close_one(int *descriptor)
{
    if (*descriptor >= 0) (void)close(*descriptor);
    *descriptor = -1;
}

bool write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t length = strlen(text);
    bool done = write(file, text, length) == (ssize_t)length;
    int error = errno;
    (void)close(file);
    errno = error;
    return done;
}

void close_both(int ends[2])
{
    close_one(&ends[0]);
    close_one(&ends[1]);
}
