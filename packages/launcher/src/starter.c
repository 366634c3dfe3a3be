#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "descriptors.h"
#include "report.h"
#include "signals.h"
#include "starter.h"
#include "supervise.h"
#include "tree.h"

enum {
    /* The memory of a large request is released, since each fork would copy its page tables. */
    FRAME_KEPT_BYTES = 262144,
};
struct served served[MAX_RUNS];
struct service service = {-1, -1, 0, 0};

_Noreturn void exit_starter(int status)
{
    has_tree = false;
    _exit(end_tree() ? status : EXIT_SETUP);
}

/* Boundary: after a malformed request the stream cannot be trusted any more, so the starter ends. */
void require_valid_request(bool is_sound)
{
    if (!is_sound) exit_starter(EXIT_SETUP);
}

/* Waits until the gateway reads or is gone, or a termination signal comes. */
void reply(struct text *line)
{
    line->bytes[line->length++] = '\n';
    for (size_t sent = 0; sent < line->length;) {
        ssize_t count = send(service.requests, line->bytes + sent, line->length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0) {
            sent += (size_t)count;
        } else if (errno == EAGAIN) {
            struct pollfd watched[2] = {{service.requests, POLLOUT, 0}, {signal_source, POLLIN, 0}};
            (void)poll(watched, 2, -1);
            if (take_signals()) exit_starter(0);
        } else if (errno != EINTR) {
            exit_starter(0);
        }
    }
    line->length = 0;
}

void begin_reply(struct text *line, const char *what, uint64_t id)
{
    add(line, what);
    add_number(line, id);
    add_byte(line, ' ');
}

struct served *find_served(uint64_t id)
{
    for (size_t i = 0; i < MAX_RUNS; i++)
        if (served[i].id == id) return &served[i];
    return NULL;
}

static void forget_if_over(struct served *each)
{
    if (each->process == 0 && each->end_count == 0) each->id = 0;
}

void take_ends(struct served *each)
{
    while (each->end_count > 0) (void)close(each->ends[--each->end_count]);
    forget_if_over(each);
}

void kill_served(const struct served *each)
{
    if (each->process == 0) return;
    (void)kill(-each->process, SIGKILL);
    /* It may not have created its session yet. */
    (void)kill(each->process, SIGKILL);
}

/* Moves the rest of the requests to the front. Nothing of a run's arguments remains for launchers that are forked later. */
static void drop_frames(size_t done)
{
    size_t rest = service.held - done;
    memmove(frames, frames + done, rest);
    memset(frames + rest, 0, done);
    if (service.held > FRAME_KEPT_BYTES && rest <= FRAME_KEPT_BYTES)
        (void)madvise(frames + FRAME_KEPT_BYTES, sizeof frames - FRAME_KEPT_BYTES, MADV_DONTNEED);
    service.held = rest;
}

static void read_requests(void)
{
    ssize_t count = recv(service.requests, frames + service.held, sizeof frames - service.held, MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) exit_starter(0);
    service.held += (size_t)count;
    size_t done = 0;
    while (service.held - done >= 4) {
        uint32_t length = number_at(frames + done);
        require_valid_request(length >= 4 && length <= MAX_FRAME);
        if (service.held - done - 4 < length) break;
        take_frame(frames + done + 4, length);
        done += 4 + (size_t)length;
    }
    if (done > 0) drop_frames(done);
}

static void tell_end_of(struct served *each, int status)
{
    TEXT(line, 128);
    begin_reply(&line, "ended ", each->id);
    add(&line, WIFSIGNALED(status) ? "signal=" : "exit=");
    add_number(&line, (uint64_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
    each->process = 0;
    close_channels(each);
    if (transfer.of == each) transfer.of = NULL;
    forget_if_over(each);
    reply(&line);
}

static struct served *find_process(pid_t process)
{
    if (process <= 0) return NULL;
    for (size_t i = 0; i < MAX_RUNS; i++)
        if (served[i].process == process) return &served[i];
    return NULL;
}

/* Ends an orphan that the starter inherited, unless it is in the session of a run that continues. */
static void end_strays(void)
{
    struct branch root = {getpid(), -1, 0, 0};
    root.top = find_children(root.process, 0);
    for (size_t i = 0, end = root.top; i < end; i++)
        if (find_process(found_processes[i]) == NULL && find_process(getsid(found_processes[i])) == NULL) end_branch(found_processes[i], &root);
}

/* Waits for all processes that have ended: launchers, and orphans that the starter inherited. */
static void reap_served(void)
{
    for (;;) {
        siginfo_t ended = {0};
        int status;
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 && errno == EINTR) continue;
        pid_t process = ended.si_pid;
        if (process == 0) return;
        struct served *each = find_process(process);
        /* Until it is waited for, its pid is the number of its process group and of no other. */
        if (each != NULL) (void)kill(-process, SIGKILL);
        if (waitpid(process, &status, __WALL) != process) continue;
        /* The starter inherits what a killed launcher would have ended, and the descendants of that. */
        if (WIFSIGNALED(status)) end_strays();
        if (each != NULL) tell_end_of(each, status);
    }
}

static int socket_of(const char *argument, const char *key)
{
    struct stat status;
    uint64_t number;
    if (strncmp(argument, key, strlen(key)) != 0 || !read_number(argument + strlen(key), 3, MAX_DESCRIPTOR, &number) ||
        fstat((int)number, &status) != 0 || !S_ISSOCK(status.st_mode))
        refuse(argument, "is not an open socket", "requests=FD, and handles=FD after it, with mode=serve");
    must(fcntl((int)number, F_SETFD, FD_CLOEXEC) == 0, "descriptors");
    return (int)number;
}

static void open_service(int count, char **arguments)
{
    sigset_t signals;
    service.requests = socket_of(arguments[0], "requests=");
    service.handles = count == 1 ? -1 : socket_of(arguments[1], "handles=");
    if (count > 1 && (service.handles == service.requests || !is_unix_stream(service.handles)))
        refuse(arguments[1], "is not a unix stream socket of its own", "one that passes descriptors");
    service.gateway = getppid();
    uint64_t first = (uint64_t)service.requests, last = first;
    if (count > 1 && service.handles < service.requests) first = (uint64_t)service.handles;
    if (count > 1 && service.handles > service.requests) last = (uint64_t)service.handles;
    close_range_of(3, first - 1);
    close_range_of(first + 1, last - 1);
    close_range_of(last + 1, UINT32_MAX);
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGCHLD, SIG_DFL) != SIG_ERR, "signals");
    block_signals(&signals);
    signal_source = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    must(signal_source >= 0, "signals");
    find_children_files();
    must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "subreaper");
    has_tree = true;
}

enum { WATCH_REQUESTS, WATCH_SIGNALS, WATCH_HANDLES, WATCH_RUNS };
static struct pollfd watches[WATCH_RUNS + MAX_RUNS * CHANNELS];

static size_t watch_all(void)
{
    size_t count = WATCH_RUNS;
    bool is_unsent = transfer.is_under_way && transfer.sent < transfer.line.length;
    watches[WATCH_REQUESTS] = (struct pollfd){service.requests, POLLIN, 0};
    watches[WATCH_SIGNALS] = (struct pollfd){signal_source, POLLIN, 0};
    watches[WATCH_HANDLES] = (struct pollfd){service.handles, (short)(is_unsent ? POLLIN | POLLOUT : POLLIN), 0};
    /* One handle at a time: the others wait in their sockets. */
    for (size_t i = 0; !transfer.is_under_way && i < MAX_RUNS; i++)
        for (size_t kind = 0; served[i].id != 0 && kind < CHANNELS; kind++)
            if (served[i].channels[kind].from >= 0)
                watches[count++] = (struct pollfd){served[i].channels[kind].from, POLLIN, 0};
    return count;
}

static bool is_ready(int from, size_t count)
{
    for (size_t i = WATCH_RUNS; from >= 0 && i < count; i++)
        if (watches[i].fd == from) return watches[i].revents != 0;
    return false;
}

/* Receives the next available handle. Runs take turns, so that no run waits for all the others. */
static void turn_to_handles(size_t count)
{
    static size_t turn = 0;
    for (size_t tried = 0; !transfer.is_under_way && count > WATCH_RUNS && tried < MAX_RUNS; tried++) {
        struct served *each = &served[turn = (turn + 1) % MAX_RUNS];
        for (size_t kind = 0; kind < CHANNELS; kind++)
            if (each->id != 0 && !transfer.is_under_way && is_ready(each->channels[kind].from, count))
                take_handle_of(each, (enum channel_kind)kind);
    }
}

/* Never returns: starts launchers until the requests end, and leaves nothing behind. */
_Noreturn void serve_requests(int count, char **arguments)
{
    open_service(count, arguments);
    for (;;) {
        reap_served();
        size_t watched = watch_all();
        if (poll(watches, (nfds_t)watched, -1) < 0) {
            if (errno != EINTR) fail("poll", errno);
            continue;
        }
        const short handles = watches[WATCH_HANDLES].revents;
        if (watches[WATCH_SIGNALS].revents != 0 && take_signals()) exit_starter(0);
        /* The last requests of a gateway that is gone are not started. */
        if ((watches[WATCH_REQUESTS].revents & ~POLLIN) != 0 || (handles & ~(POLLIN | POLLOUT)) != 0) exit_starter(0);
        if ((handles & POLLOUT) != 0) send_handle();
        if ((handles & POLLIN) != 0) read_answers();
        turn_to_handles(watched);
        if (watches[WATCH_REQUESTS].revents != 0) read_requests();
    }
}
