#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "options.h"
#include "report.h"
#include "supervise.h"

/* Gives up silently if the reader is gone: that must not leave a command running. */
void write_all(int descriptor, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(descriptor, bytes, length);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd wait = {descriptor, POLLOUT, 0};
            if (poll(&wait, 1, DRAIN_TIMEOUT_MS) <= 0) return;
        } else if (errno != EINTR) {
            return;
        }
    }
}

void write_line(struct text *line, int descriptor)
{
    line->bytes[line->length] = '\n';
    write_all(descriptor, line->bytes, line->length + 1);
    line->length = 0;
}

/* One line in one write: the command's process and the supervisor share the descriptor. */
void report_status(struct text *line)
{
    if (plan.status != 0) write_line(line, (int)plan.status);
    line->length = 0;
}

/* exec_report is set in the command's process, to report a failed exec; has_tree in the supervisor, after the fork. */
int exec_report = -1;
bool has_tree = false;
/* The pid of the starter, set in the processes that it forked. */
pid_t starter = 0;

_Noreturn void refuse(const char *argument, const char *is, const char *expected)
{
    TEXT(line, 1024);
    add(&line, "Cannot start the command: \"");
    add_escaped(&line, argument, '"');
    if (line.length > 400) line.length = 400;
    add(&line, "\" ");
    add(&line, is);
    add(&line, ", expected ");
    add(&line, expected);
    write_line(&line, STDERR_FILENO);
    _exit(EXIT_SETUP);
}

/* Ends a start that failed at `step`. Nothing of the command has run, or everything that it started is ended first. */
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
    report_status(&line);
    add(&line, "Cannot start the command: ");
    add(&line, step);
    add(&line, " ended with ");
    add(&line, name_of_error(error));
    write_line(&line, STDERR_FILENO);
    if (exec_report >= 0) write_all(exec_report, "F", 1);
    _exit(EXIT_SETUP);
}

void must(bool done, const char *step)
{
    if (!done) fail(step, errno);
}
