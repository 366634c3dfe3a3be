#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "network.h"
#include "options.h"
#include "ports.h"
#include "text.h"

/* On loopback a connection is made or refused at once, unless the queue of its listener is full. */
enum { CONNECT_WAIT_MS = 20 };

/* Whether it has not failed: it is made, or under way. */
static bool is_promising(int file)
{
    struct pollfd made = {file, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    (void)poll(&made, 1, CONNECT_WAIT_MS);
    return getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

/* A connection on loopback; -1 if nothing listens there. */
static int connect_loopback(bool is_ipv6, uint16_t port)
{
    const struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int file = socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return -1;
    if (connect(file, is_ipv6 ? (const struct sockaddr *)&six : (const struct sockaddr *)&four,
                is_ipv6 ? sizeof six : sizeof four) == 0 || (errno == EINPROGRESS && is_promising(file)))
        return file;
    (void)close(file);
    return -1;
}

/* Answers a request with its number and a socket, or with the number alone. False if there is no such port. */
bool connect_port(size_t index)
{
    static uint64_t answered = 0;
    TEXT(line, 24);
    /* Boundary: the gateway names a port of the plan, never an address. */
    if (index >= plan.port_count) return false;
    add_number(&line, answered++);
    add_byte(&line, '\n');
    int file = connect_loopback(false, plan.ports[index]);
    if (file < 0) file = connect_loopback(true, plan.ports[index]);
    bool is_sent = send_with((int)plan.sockets, line.bytes, line.length, file) == (ssize_t)line.length;
    /* Without room for the socket its number alone: the gateway asks for few at a time, so there is room for that. */
    if (!is_sent && file >= 0) (void)send_with((int)plan.sockets, line.bytes, line.length, -1);
    if (file >= 0) (void)close(file);
    return true;
}
