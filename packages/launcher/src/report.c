#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "options.h"
#include "report.h"
#include "supervise.h"

/* Gives up quietly where nobody reads: that is no reason to leave a command running. */
void write_all(int descriptor, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(descriptor, bytes, length);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd wait = {descriptor, POLLOUT, 0};
            if (poll(&wait, 1, DRAIN_PATIENCE_MS) <= 0) return;
        } else if (errno != EINTR) {
            return;
        }
    }
}

void tell(struct text *line, int descriptor)
{
    line->bytes[line->length] = '\n';
    write_all(descriptor, line->bytes, line->length + 1);
    line->length = 0;
}

/* One line in one write: the command's process and the supervisor have the descriptor both. */
void tell_status(struct text *line)
{
    if (plan.status != 0) tell(line, (int)plan.status);
    line->length = 0;
}

/* Set in the command's process: where it says that it came to no exec, and in the supervisor once there is a tree. */
int exec_report = -1;
bool has_tree = false;
/* Set in what the starter forked: its pid. */
pid_t starter = 0;

_Noreturn void refuse(const char *word, const char *is, const char *expected)
{
    TEXT(line, 1024);
    add(&line, "Cannot start the command: \"");
    add_escaped(&line, word, '"');
    if (line.length > 400) line.length = 400;
    add(&line, "\" ");
    add(&line, is);
    add(&line, ", expected ");
    add(&line, expected);
    tell(&line, STDERR_FILENO);
    _exit(EXIT_SETUP);
}

/* Ends a start that failed at `step`. Nothing of the command has run, or all of it is ended first. */
_Noreturn void fail(const char *step, int error)
{
    if (has_tree) {
        has_tree = false;
        (void)end_tree();
    }
    TEXT(line, 256);
    add(&line, "failed=");
    add(&line, step);
    add(&line, " errno=");
    add_number(&line, (uint64_t)error);
    add_byte(&line, ' ');
    add(&line, name_of_error(error));
    tell_status(&line);
    add(&line, "Cannot start the command: ");
    add(&line, step);
    add(&line, " ended with ");
    add(&line, name_of_error(error));
    tell(&line, STDERR_FILENO);
    if (exec_report >= 0) write_all(exec_report, "F", 1);
    _exit(EXIT_SETUP);
}

void must(bool done, const char *step)
{
    if (!done) fail(step, errno);
}
