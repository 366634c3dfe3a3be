#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "descriptors.h"
#include "network.h"
#include "options.h"
#include "starter.h"

enum {
    /* How often a listener is sent to a gateway that answers that it did not receive it. */
    HANDLE_TRIES = 4,
};
struct transfer transfer = {.server = -1};

/* A run without all of its listeners is ended. */
static void abandon_run(struct served *each)
{
    if (each == NULL) return;
    close_one(&each->handles);
    kill_served(each);
}

void send_listener(void)
{
    const struct text *line = &transfer.line;
    ssize_t count = send_with(service.handles, line->bytes + transfer.sent, line->length - transfer.sent,
                              transfer.sent == 0 ? transfer.server : -1);
    if (count >= 0) {
        transfer.sent += (size_t)count;
    } else if (errno == EPIPE || errno == ECONNRESET) {
        exit_starter(0);
    } else if (errno != EAGAIN && errno != EINTR) {
        abandon_run(transfer.of);
        close_one(&transfer.server);
    }
}

static void begin_transfer(struct served *each, int server)
{
    transfer.of = each;
    transfer.server = server;
    transfer.tries = 1;
    transfer.sent = 0;
    transfer.line = (struct text){transfer.bytes, sizeof transfer.bytes, 0};
    add(&transfer.line, "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Server\",\"msg\":{\"run\":");
    add_number(&transfer.line, each->id);
    add(&transfer.line, ",\"index\":");
    add_number(&transfer.line, each->listener_count++);
    add(&transfer.line, "}}\n");
    send_listener();
}

static void take_answer(const char *answer)
{
    bool is_taken = strcmp(answer, "{\"cmd\":\"NODE_HANDLE_ACK\"}") == 0;
    /* Boundary: one answer to each line, and nothing else. */
    require_valid_request(is_taken || strcmp(answer, "{\"cmd\":\"NODE_HANDLE_NACK\"}") == 0);
    require_valid_request(transfer.server >= 0 && transfer.sent == transfer.line.length);
    if (!is_taken && transfer.tries < HANDLE_TRIES) {
        transfer.tries += 1;
        transfer.sent = 0;
        send_listener();
        return;
    }
    if (!is_taken) abandon_run(transfer.of);
    close_one(&transfer.server);
}

void read_answers(void)
{
    ssize_t count = recv(service.handles, transfer.answers + transfer.held, sizeof transfer.answers - transfer.held,
                         MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) exit_starter(0);
    transfer.held += (size_t)count;
    for (char *end; (end = memchr(transfer.answers, '\n', transfer.held)) != NULL;) {
        *end = '\0';
        take_answer(transfer.answers);
        transfer.held -= (size_t)(end + 1 - transfer.answers);
        memmove(transfer.answers, end + 1, transfer.held);
    }
    require_valid_request(transfer.held < sizeof transfer.answers);
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

/* Receives the next listener of a run. */
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
    /* Boundary: only the launcher writes here, before the command runs; anything else is not forwarded. */
    if (each->listener_count < MAX_LISTENERS && (size_t)count == expected.length &&
        memcmp(bytes, expected.bytes, expected.length) == 0 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
        server >= 0 && is_listener(server)) {
        begin_transfer(each, server);
        return;
    }
    close_one(&server);
    abandon_run(each);
}
