#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arguments.h"
#include "options.h"
#include "report.h"
#include "signals.h"

/* Received requests, or the arguments of one launch. Untouched pages take no memory, here and after a fork. */
_Alignas(4096) char frames[4 + MAX_FRAME];
char *listed_arguments[MAX_ARGUMENTS + 2];

uint32_t number_at(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Lists NUL-terminated strings as the arguments of a command line; returns their number, including the name. */
int list_arguments(char *text, size_t length)
{
    static char name[] = "palisade-launcher";
    int count = 0;
    listed_arguments[count++] = name;
    for (size_t at = 0; at < length; at += strlen(text + at) + 1) {
        if (count > MAX_ARGUMENTS) fail("words", E2BIG);
        listed_arguments[count++] = text + at;
    }
    listed_arguments[count] = NULL;
    return count;
}

static size_t read_to_end(int descriptor)
{
    size_t length = 0;
    for (;;) {
        ssize_t count = read(descriptor, frames + length, sizeof frames - length);
        if (count < 0 && errno == EINTR) continue;
        must(count >= 0, "words");
        if (count == 0) return length;
        length += (size_t)count;
        if (length == sizeof frames) fail("words", E2BIG);
    }
}

/* Reads and lists arguments from a descriptor; returns their number, including the name before them. */
static int read_listed(int descriptor)
{
    static const char WORDS[] = "words";
    size_t length = read_to_end(descriptor);
    (void)close(descriptor);
    /* This process is no longer needed. */
    if (length == 0) _exit(EXIT_SETUP);
    /* Boundary: truncated arguments are not the arguments of a smaller launch. */
    if (length < 4 || (length > 4 && frames[length - 1] != '\0')) refuse(WORDS, "are truncated", "all of them");
    int count = list_arguments(frames + 4, length - 4);
    if (number_at(frames) != (uint32_t)count - 1) refuse(WORDS, "are not as many as announced", "the announced number");
    plan.has_own_variables = true;
    is_visible = false;
    return count;
}

/* Waits for the arguments of a launch, which are then used as if they had been on the command line. */
int wait_for_arguments(const char *argument)
{
    uint64_t descriptor;
    /* Boundary: before waiting, since hostile processes of the same user may already run. */
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
    if (!read_number(argument + strlen("words="), 3, MAX_DESCRIPTOR, &descriptor) || fcntl((int)descriptor, F_GETFD) < 0)
        refuse(argument, "is not an open descriptor", "the number of one, from 3 on");
    return read_listed((int)descriptor);
}

/*
 * The sandbox is ready; its command may come much later, or never. Meanwhile a termination signal or the end of the
 * control descriptor ends it.
 */
void wait_for_command(void)
{
    if (plan.arguments == 0) return;
    struct pollfd watched[3] = {{(int)plan.arguments, POLLIN, 0},
                                {signal_source, POLLIN, 0},
                                {plan.control == 0 ? -1 : (int)plan.control, POLLIN, 0}};
    while (watched[0].revents == 0) {
        if (poll(watched, COUNT(watched), -1) < 0 && errno != EINTR) fail("poll", errno);
        if (watched[2].revents != 0 || (watched[1].revents != 0 && take_signals())) _exit(EXIT_SETUP);
    }
    int count = read_listed((int)plan.arguments);
    read_command_arguments(count, listed_arguments);
}
