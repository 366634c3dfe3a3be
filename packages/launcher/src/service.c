/*
 * palisade-launcher mode=service -- FILE [ARG...]
 *
 * Node cannot send datagrams to a Unix socket, which is how a service tells systemd that it is ready, and systemd takes
 * them from the main process of the service alone. So this program connects the socket that NOTIFY_SOCKET names and
 * becomes the service itself: the descriptor stays open, its number is in PALISADE_NOTIFY_FD, and what the service
 * writes to it comes from the main process. Without NOTIFY_SOCKET only the exec is left.
 *
 * Input: the arguments and the environment of the service manager, which are trusted. Descriptors that it passes stay
 * where they are (LISTEN_FDS): a new one gets a number behind them.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "report.h"
#include "service.h"

enum { MAX_VARIABLES = 4096 };

static const char *variable(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = environ; *entry != NULL; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
    return NULL;
}

/* A path, or a name in the abstract namespace, which begins with @. */
static int connect_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || length < 2 || length >= sizeof address.sun_path)
        refuse(name, "is not the name of a socket", "NOTIFY_SOCKET to be a path or a name after @");
    memcpy(address.sun_path, name, length);
    if (name[0] == '@') address.sun_path[0] = '\0';
    int socket_descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    must(socket_descriptor >= 0 && connect(socket_descriptor, (const struct sockaddr *)&address, size) == 0, "notify");
    return socket_descriptor;
}

_Noreturn void become_service(int count, char **words)
{
    static char *variables[MAX_VARIABLES + 2];
    TEXT(notify, 64);
    size_t kept = 0;
    if (count < 2 || strcmp(words[0], "--") != 0) refuse("mode=service", "names no program", "-- FILE [ARG...]");
    for (char **entry = environ; *entry != NULL; entry++) {
        if (kept == MAX_VARIABLES) refuse("the environment", "has too many variables", "at most 4096");
        /* Only ours counts: one from outside would name a descriptor of something else. */
        if (strncmp(*entry, "PALISADE_NOTIFY_FD=", 19) != 0) variables[kept++] = *entry;
    }
    const char *manager = variable("NOTIFY_SOCKET");
    if (manager != NULL && manager[0] != '\0') {
        add(&notify, "PALISADE_NOTIFY_FD=");
        add_number(&notify, (uint64_t)connect_to(manager));
        string_of(&notify);
        variables[kept++] = notify.bytes;
    }
    (void)execve(words[1], words + 1, variables);
    int error = errno;
    TEXT(line, 256);
    add(&line, "Cannot start the service: exec ended with ");
    add(&line, name_of_error(error));
    write_line(&line, STDERR_FILENO);
    _exit(error == ENOENT ? EXIT_ABSENT : EXIT_EXEC);
}
