#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "descriptors.h"
#include "network.h"
#include "options.h"
#include "starter.h"

enum {
    /* How often a handle is sent to a gateway that answers that it did not receive it. */
    HANDLE_TRIES = 4,
};
struct transfer transfer = {.file = -1};

/* How the gateway knows what comes: the type of a handle in Node, and the name of its number. */
static const struct {
    const char *type, *name;
} KINDS[CHANNELS] = {{"net.Server", "index"}, {"net.Socket", "socket"}};

void close_channels(struct served *each)
{
    for (size_t i = 0; i < CHANNELS; i++) close_one(&each->channels[i].from);
}

/* A run that lacks a handle is ended. */
static void abandon_run(struct served *each)
{
    if (each == NULL) return;
    close_channels(each);
    kill_served(each);
}

static void end_transfer(void)
{
    close_one(&transfer.file);
    transfer.is_under_way = false;
}

void send_handle(void)
{
    const struct text *line = &transfer.line;
    ssize_t count = send_with(service.handles, line->bytes + transfer.sent, line->length - transfer.sent,
                              transfer.sent == 0 ? transfer.file : -1);
    if (count >= 0) {
        transfer.sent += (size_t)count;
        if (transfer.file < 0 && transfer.sent == line->length) end_transfer();
    } else if (errno == EPIPE || errno == ECONNRESET) {
        exit_starter(0);
    } else if (errno != EAGAIN && errno != EINTR) {
        abandon_run(transfer.of);
        end_transfer();
    }
}

static void begin_transfer(struct served *each, enum channel_kind kind, int file)
{
    transfer.of = each;
    transfer.is_under_way = true;
    transfer.file = file;
    transfer.tries = 1;
    transfer.sent = 0;
    transfer.line = (struct text){transfer.bytes, sizeof transfer.bytes, 0};
    if (file >= 0) {
        add(&transfer.line, "{\"cmd\":\"NODE_HANDLE\",\"type\":\"");
        add(&transfer.line, KINDS[kind].type);
        add(&transfer.line, "\",\"msg\":");
    }
    add(&transfer.line, "{\"run\":");
    add_number(&transfer.line, each->id);
    add(&transfer.line, ",\"");
    add(&transfer.line, KINDS[kind].name);
    add(&transfer.line, "\":");
    add_number(&transfer.line, each->channels[kind].count++);
    add(&transfer.line, file >= 0 ? "}}\n" : "}\n");
    send_handle();
}

static void take_answer(const char *answer)
{
    bool is_taken = strcmp(answer, "{\"cmd\":\"NODE_HANDLE_ACK\"}") == 0;
    /* Boundary: one answer to each line, and nothing else. */
    require_valid_request(is_taken || strcmp(answer, "{\"cmd\":\"NODE_HANDLE_NACK\"}") == 0);
    require_valid_request(transfer.file >= 0 && transfer.sent == transfer.line.length);
    if (!is_taken && transfer.tries < HANDLE_TRIES) {
        transfer.tries += 1;
        transfer.sent = 0;
        send_handle();
        return;
    }
    if (!is_taken) abandon_run(transfer.of);
    end_transfer();
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

/* Whether it is a TCP socket that listens, or one that does not. */
static bool is_tcp(int descriptor, bool listens)
{
    int value = 0;
    socklen_t size = sizeof value;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) != 0 || (value == 1) != listens) return false;
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

/* What a channel may carry: so many listeners, or any number of sockets, of which some may be missing. */
static bool is_expected(const struct channel *channel, enum channel_kind kind, int file)
{
    if (kind == SOCKETS) return file < 0 || is_tcp(file, false);
    return channel->count < MAX_LISTENERS && file >= 0 && is_tcp(file, true);
}

/* Receives the next handle of a run. */
void take_handle_of(struct served *each, enum channel_kind kind)
{
    struct channel *channel = &each->channels[kind];
    TEXT(expected, 24);
    add_number(&expected, channel->count);
    add_byte(&expected, '\n');
    char bytes[24];
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    /* Sockets can follow each other at once: no more than the next line is read. */
    struct iovec part = {bytes, kind == SOCKETS ? expected.length : sizeof bytes};
    /* Boundary: CMSG_LEN, because CMSG_SPACE has room for a second descriptor, which would stay open here. */
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t count = recvmsg(channel->from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
        close_one(&channel->from);
        return;
    }
    int file = descriptor_of(&message);
    /* Boundary: only the launcher writes here, and the command has no such socket; anything else is not forwarded. */
    if ((size_t)count == expected.length && memcmp(bytes, expected.bytes, expected.length) == 0 &&
        (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 && is_expected(channel, kind, file)) {
        begin_transfer(each, kind, file);
        return;
    }
    close_one(&file);
    abandon_run(each);
}
