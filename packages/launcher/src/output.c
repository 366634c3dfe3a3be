#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptors.h"
#include "options.h"
#include "output.h"
#include "report.h"
#include "signals.h"
#include "supervise.h"
#include "tail.h"

enum { SPLICE_BYTES = 1048576 };
struct stream streams[2];

void open_streams(int writers[2])
{
    writers[0] = writers[1] = streams[0].from = streams[1].from = -1;
    for (int i = 0; plan.output != 0 && i < 2; i++) {
        struct stat status;
        int ends[2];
        must(pipe2(ends, O_CLOEXEC) == 0 && fstat(i + 1, &status) == 0, "output");
        must(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0, "output");
        /* The command may open it by name (/dev/stdout), which checks its owner. */
        if (plan.uid != 0 && plan.ns == 0) must(fchown(ends[1], (uid_t)plan.uid, (gid_t)plan.gid) == 0, "output");
        /* A larger pipe means fewer rounds; if the quota of the user forbids it, the default size will do. */
        (void)fcntl(ends[0], F_SETPIPE_SZ, COPY_BYTES * 4);
        streams[i].from = ends[0];
        streams[i].to = i + 1;
        streams[i].is_socket = S_ISSOCK(status.st_mode);
        streams[i].is_spliced = S_ISFIFO(status.st_mode);
        /* A pipe that is ready for writing accepts this much without blocking. */
        streams[i].most = S_ISFIFO(status.st_mode) ? PIPE_BUF : COPY_BYTES;
        writers[i] = ends[1];
    }
}

/* Forwards what was read. Never blocks: a caller that does not read must not stop the clocks. */
static enum flow flush(struct stream *stream)
{
    const char *bytes = stream->bytes + stream->sent;
    size_t length = stream->held - stream->sent;
    if (length == 0) return FLOW_MOVED;
    ssize_t count = stream->is_socket ? send(stream->to, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL)
                                      : write(stream->to, bytes, length);
    if (count < 0) return errno == EAGAIN ? FLOW_BLOCKED : errno == EINTR ? FLOW_MOVED : FLOW_ENDED;
    stream->sent += (size_t)count;
    run.delivered += (uint64_t)count;
    return FLOW_MOVED;
}

static enum flow flow_of(ssize_t count, const struct stream *stream)
{
    int waiting = 0;
    if (count > 0 || (count < 0 && errno == EINTR)) return FLOW_MOVED;
    if (count == 0 || errno != EAGAIN) return FLOW_ENDED;
    /* splice returns the same error for an empty source and a full target. */
    if (ioctl(stream->from, FIONREAD, &waiting) == 0 && waiting > 0) return FLOW_BLOCKED;
    return FLOW_EMPTY;
}

/* The rest of a character whose beginning was passed on goes with it. */
static size_t rest_of_character(struct stream *stream, size_t length)
{
    size_t count = 0;
    while (count < length && count < 3 && count < plan.output - run.taken &&
           ((unsigned char)stream->bytes[count] & 0xc0) == 0x80)
        count++;
    return count;
}

/* Reads what comes after the first part of the quota, so that the command does not block, and holds the last of it. */
static enum flow hold(struct stream *stream)
{
    ssize_t count = read(stream->from, stream->bytes, sizeof stream->bytes);
    if (count <= 0) return flow_of(count, stream);
    size_t rest = stream->is_past_head ? 0 : rest_of_character(stream, (size_t)count);
    stream->is_past_head = true;
    run.taken += rest;
    run.excess += (uint64_t)count;
    /* Boundary: what is left out costs time of the machine, so there is a limit of it too. */
    if (plan.flood != 0 && run.excess > plan.flood) run.stop = STOP_OUTPUT;
    hold_tail(&tails[stream - streams], stream->bytes + rest, (size_t)count - rest, plan.output - run.taken);
    stream->held = rest;
    stream->sent = 0;
    return rest > 0 ? FLOW_BLOCKED : FLOW_MOVED;
}

/* Copies what is available, and not one byte more than the quota allows. */
static enum flow move(struct stream *stream)
{
    if (stream->sent < stream->held) return flush(stream);
    uint64_t head = plan.output - (plan.cut == 0 ? 0 : tail_room(plan.output));
    uint64_t room = run.taken < head ? head - run.taken : 0;
    char byte;
    ssize_t count;
    if (room == 0 && plan.cut != 0) return hold(stream);
    if (room == 0) {
        /* Boundary: the first byte after the quota exceeds it, not its last byte. */
        count = read(stream->from, &byte, 1);
        if (count == 1) run.stop = STOP_OUTPUT;
        return count == 1 ? FLOW_ENDED : flow_of(count, stream);
    }
    if (stream->is_spliced) {
        size_t length = room < SPLICE_BYTES ? (size_t)room : SPLICE_BYTES;
        count = splice(stream->from, NULL, stream->to, NULL, length, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (count >= 0 || errno != EINVAL) {
            if (count > 0) {
                run.taken += (uint64_t)count;
                run.delivered += (uint64_t)count;
            }
            return flow_of(count, stream);
        }
        stream->is_spliced = false;
    }
    count = read(stream->from, stream->bytes, room < stream->most ? (size_t)room : stream->most);
    if (count <= 0) return flow_of(count, stream);
    run.taken += (uint64_t)count;
    stream->held = (size_t)count;
    stream->sent = 0;
    return flush(stream);
}

/* Copies once. At the end of the output, or if its reader is gone, the pipe is closed, so that the command notices. */
enum flow serve(struct stream *stream)
{
    enum flow flow = move(stream);
    stream->is_blocked = flow == FLOW_BLOCKED;
    if (flow == FLOW_ENDED) close_one(&stream->from);
    return flow;
}

size_t watch_streams(struct pollfd *watched)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT(streams); i++) {
        struct stream *stream = &streams[i];
        if (stream->from < 0) continue;
        bool is_full = stream->is_blocked || stream->sent < stream->held;
        watched[count++] = (struct pollfd){is_full ? stream->to : stream->from, is_full ? POLLOUT : POLLIN, 0};
    }
    return count;
}

/* False if the reader does not read, or the run is cancelled. */
static bool wait_for_reader(const struct stream *stream)
{
    struct pollfd watched[3] = {{stream->to, POLLOUT, 0},
                                {signal_source, POLLIN, 0},
                                {plan.control == 0 ? -1 : (int)plan.control, POLLIN, 0}};
    if (poll(watched, 3, DRAIN_TIMEOUT_MS) <= 0 || is_cancelled(watched[2].revents)) return false;
    /* SIGCHLD does not end the wait; once read, it does not wake the next poll. */
    return watched[1].revents == 0 || !take_signals();
}

static bool pass_on(struct stream *stream, const char *bytes, size_t length)
{
    while (length > 0) {
        stream->held = length < stream->most ? length : stream->most;
        stream->sent = 0;
        memcpy(stream->bytes, bytes, stream->held);
        if (!wait_for_reader(stream) || flush(stream) == FLOW_ENDED) return false;
        bytes += stream->sent;
        length -= stream->sent;
    }
    return true;
}

/* Says in the stream itself how much is missing there, for those who read nothing else. */
static bool pass_note(struct stream *stream, uint64_t dropped)
{
    TEXT(note, 160);
    add(&note, "\n[palisade: ");
    add_number(&note, dropped);
    add(&note, stream == &streams[0] ? " bytes of stdout" : " bytes of stderr");
    add(&note, " left out here; the limit of output is ");
    add_number(&note, plan.output);
    add(&note, " bytes]\n");
    return pass_on(stream, note.bytes, note.length);
}

static void pass_tail(struct stream *stream)
{
    struct tail *tail = &tails[stream - streams];
    const char *bytes;
    size_t length;
    if (tail->dropped > 0) begin_at_character(tail);
    if (tail->dropped > 0 && !pass_note(stream, tail->dropped)) return;
    while ((length = next_of_tail(tail, &bytes)) > 0)
        if (!pass_on(stream, bytes, length)) return;
}

/* All writers are gone: the pipes contain the rest of the output. */
void drain(void)
{
    for (size_t i = 0; i < COUNT(streams); i++) {
        struct stream *stream = &streams[i];
        while (stream->from >= 0) {
            enum flow flow = serve(stream);
            if (flow == FLOW_EMPTY) close_one(&stream->from);
            if (flow == FLOW_BLOCKED && !wait_for_reader(stream)) return;
        }
    }
    for (size_t i = 0; plan.cut != 0 && i < COUNT(streams); i++) pass_tail(&streams[i]);
}
