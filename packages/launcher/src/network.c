#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "network.h"
#include "options.h"
#include "report.h"

enum {
    /* Connections that wait for the gateway to accept them. */
    LISTEN_BACKLOG = 128,
};

/* Sends bytes, with a descriptor if there is one. */
ssize_t send_with(int socket, const char *bytes, size_t length, int descriptor)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof descriptor)] = {0};
    /* sendmsg only reads them. */
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = room;
        message.msg_controllen = sizeof room;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptor);
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void raise_loopback(void)
{
    struct ifreq lo = {.ifr_name = "lo"};
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(control >= 0 && ioctl(control, SIOCGIFFLAGS, &lo) == 0, "lo");
    lo.ifr_flags = (short)(lo.ifr_flags | IFF_UP);
    must(ioctl(control, SIOCSIFFLAGS, &lo) == 0, "lo");
    (void)close(control);
}

static int listen_at(const struct listener *listener)
{
    const int on = 1;
    const struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(listener->port), .sin_addr.s_addr = htonl(listener->address)};
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(listener->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int server = socket(listener->is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(server >= 0 && setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "listen");
    must(bind(server, listener->is_ipv6 ? (const struct sockaddr *)&six : (const struct sockaddr *)&four,
              listener->is_ipv6 ? sizeof six : sizeof four) == 0 && listen(server, LISTEN_BACKLOG) == 0, "listen");
    return server;
}

/*
 * In the new network namespace, while this process still has the capabilities of its owner, which low ports need. The
 * listeners go to the gateway: clients are in this namespace, but no process in it has one of the listeners.
 */
void open_network(void)
{
    raise_loopback();
    for (size_t i = 0; i < plan.listener_count; i++) {
        TEXT(line, 24);
        add_number(&line, i);
        add_byte(&line, '\n');
        int server = listen_at(&plan.listeners[i]);
        /* All of them fit into the socket, so a gateway that does not read cannot block this. */
        must(send_with((int)plan.handles, line.bytes, line.length, server) == (ssize_t)line.length, "handles");
        (void)close(server);
    }
    /* Boundary: the command can reach the gateway only by connecting. */
    if (plan.handles != 0) (void)close((int)plan.handles);
    plan.handles = 0;
}
