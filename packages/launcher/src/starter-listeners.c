#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "descriptors.h"
#include "network.h"
#include "options.h"
#include "starter.h"

enum {
    /* How often a listener is sent to a gateway that says that it did not get it. */
    HANDLE_TRIES = 4,
};
struct passing passing = {.server = -1};

/* A run that does not have what it asked for is none. */
static void break_off(struct served *each)
{
    if (each == NULL) return;
    close_one(&each->handles);
    kill_served(each);
}

void pass_on(void)
{
    const struct text *line = &passing.line;
    ssize_t count = send_with(service.handles, line->bytes + passing.sent, line->length - passing.sent,
                              passing.sent == 0 ? passing.server : -1);
    if (count >= 0) {
        passing.sent += (size_t)count;
    } else if (errno == EPIPE || errno == ECONNRESET) {
        leave(0);
    } else if (errno != EAGAIN && errno != EINTR) {
        break_off(passing.of);
        close_one(&passing.server);
    }
}

static void begin_passing(struct served *each, int server)
{
    passing.of = each;
    passing.server = server;
    passing.tries = 1;
    passing.sent = 0;
    passing.line = (struct text){passing.bytes, sizeof passing.bytes, 0};
    add(&passing.line, "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Server\",\"msg\":{\"run\":");
    add_number(&passing.line, each->id);
    add(&passing.line, ",\"index\":");
    add_number(&passing.line, each->listener_count++);
    add(&passing.line, "}}\n");
    pass_on();
}

static void take_answer(const char *answer)
{
    bool is_taken = strcmp(answer, "{\"cmd\":\"NODE_HANDLE_ACK\"}") == 0;
    /* Boundary: one answer to each line, and nothing besides. */
    require_valid_request(is_taken || strcmp(answer, "{\"cmd\":\"NODE_HANDLE_NACK\"}") == 0);
    require_valid_request(passing.server >= 0 && passing.sent == passing.line.length);
    if (!is_taken && passing.tries < HANDLE_TRIES) {
        passing.tries += 1;
        passing.sent = 0;
        pass_on();
        return;
    }
    if (!is_taken) break_off(passing.of);
    close_one(&passing.server);
}

void read_answers(void)
{
    ssize_t count = recv(service.handles, passing.answers + passing.held, sizeof passing.answers - passing.held,
                         MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) leave(0);
    passing.held += (size_t)count;
    for (char *end; (end = memchr(passing.answers, '\n', passing.held)) != NULL;) {
        *end = '\0';
        take_answer(passing.answers);
        passing.held -= (size_t)(end + 1 - passing.answers);
        memmove(passing.answers, end + 1, passing.held);
    }
    require_valid_request(passing.held < sizeof passing.answers);
}

static bool is_listener(int descriptor)
{
    int value = 0;
    socklen_t size = sizeof value;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) != 0 || value != 1) return false;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &value, &size) != 0 || value != IPPROTO_TCP) return false;
    return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &value, &size) == 0 && (value == AF_INET || value == AF_INET6);
}

/* The one descriptor that came with a message, or -1. */
static int descriptor_of(struct msghdr *message)
{
    int descriptor = -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
    if (header->cmsg_len == CMSG_LEN(sizeof descriptor)) memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

/* Takes the next listener of a run. */
void take_listener_of(struct served *each)
{
    char bytes[8];
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {bytes, sizeof bytes};
    /* Boundary: CMSG_LEN, because CMSG_SPACE has room for a second descriptor, which would stay open here. */
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t count = recvmsg(each->handles, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
        close_one(&each->handles);
        return;
    }
    TEXT(expected, 24);
    add_number(&expected, each->listener_count);
    add_byte(&expected, '\n');
    int server = descriptor_of(&message);
    /* Boundary: the launcher alone writes here, before the command is there; whatever else comes is not passed on. */
    if (each->listener_count < MAX_LISTENERS && (size_t)count == expected.length &&
        memcmp(bytes, expected.bytes, expected.length) == 0 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
        server >= 0 && is_listener(server)) {
        begin_passing(each, server);
        return;
    }
    close_one(&server);
    break_off(each);
}
