#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arguments.h"
#include "descriptors.h"
#include "launch.h"
#include "options.h"
#include "report.h"
#include "signals.h"
#include "starter.h"

/* Descriptors are first moved above the target numbers, so that none is overwritten before it is moved. */
static void place_descriptors(struct start *start)
{
    int count = (int)start->descriptor_count;
    for (int i = 0; i < count; i++) {
        if (start->access[i] != NOT_HELD) start->descriptors[i] = open_held(start->descriptors[i], start->access[i]);
        if (start->descriptors[i] >= count) continue;
        start->descriptors[i] = fcntl(start->descriptors[i], F_DUPFD_CLOEXEC, count);
        must(start->descriptors[i] >= 0, "descriptors");
    }
    for (int i = 0; i < count; i++) must(dup2(start->descriptors[i], i) == i, "descriptors");
    /* Boundary: the launcher can reach neither the requests nor a pipe of another run. */
    close_range_of((uint64_t)count, UINT32_MAX);
    hold_standard_streams();
}

/* In the forked process: drops the state of the starter and continues as a launcher with these arguments. */
_Noreturn static void become_launcher(struct start *start, char *arguments, size_t length)
{
    static char *no_variables[1];
    sigset_t none;
    has_tree = false;
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "parent-death");
    if (getppid() != starter) _exit(EXIT_SETUP);
    must(setsid() >= 0, "session");
    signal_source = -1;
    place_descriptors(start);
    must(sigemptyset(&none) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0, "signals");
    environ = no_variables;
    plan.has_own_variables = true;
    int count = list_arguments(arguments, length);
    _exit(launch(count, listed_arguments));
}

static void close_descriptors_of(struct start *start)
{
    while (start->descriptor_count > 0) (void)close(start->descriptors[--start->descriptor_count]);
}

static void give_up(struct start *start, const char *step, int error)
{
    TEXT(line, 128);
    close_descriptors_of(start);
    while (start->end_count > 0) (void)close(start->ends[--start->end_count]);
    for (size_t i = 0; i < CHANNELS; i++) close_one(&start->channels[i]);
    begin_reply(&line, "failed ", start->id);
    add(&line, step);
    add_byte(&line, ' ');
    add(&line, name_of_error(error));
    reply(&line);
}

static void fork_launcher(struct start *start, char *arguments, size_t length)
{
    struct served *each = find_served(0);
    if (each == NULL) {
        give_up(start, "runs", EUSERS);
        return;
    }
    pid_t self = getpid(), process = fork();
    if (process == 0) {
        starter = self;
        become_launcher(start, arguments, length);
    }
    if (process < 0) {
        give_up(start, "fork", errno);
        return;
    }
    TEXT(line, 1024);
    close_descriptors_of(start);
    *each = (struct served){.id = start->id, .process = process, .end_count = start->end_count};
    for (size_t i = 0; i < CHANNELS; i++) each->channels[i].from = start->channels[i];
    memcpy(each->ends, start->ends, start->end_count * sizeof start->ends[0]);
    begin_reply(&line, "started ", start->id);
    add_number(&line, (uint64_t)process);
    for (size_t i = 0; i < start->end_count; i++) {
        add_byte(&line, ' ');
        add_number(&line, (uint64_t)start->ends[i]);
    }
    reply(&line);
}

/* The NUL-terminated strings of a request that have not been read yet. */
struct strings {
    char *at;
    size_t length;
};

static char *next_string(struct strings *strings)
{
    char *string = strings->at;
    require_valid_request(strings->length > 0);
    size_t size = strlen(string) + 1;
    strings->at += size;
    strings->length -= size;
    return string;
}

static void take_start(struct start *start, struct strings *strings)
{
    const char *failed = NULL, *step = NULL;
    int error = 0;
    require_valid_request(find_served(start->id) == NULL);
    for (char *argument; strcmp(argument = next_string(strings), "--") != 0;) {
        require_valid_request(start->descriptor_count < MAX_RUN_DESCRIPTORS);
        start->access[start->descriptor_count] = NOT_HELD;
        int descriptor = failed != NULL ? -1 : open_descriptor(argument, start, &step);
        if (descriptor >= 0) start->descriptors[start->descriptor_count++] = descriptor;
        else if (failed == NULL) {
            failed = step;
            error = errno;
        }
    }
    if (failed != NULL) {
        give_up(start, failed, error);
        return;
    }
    require_valid_request(start->byte_count == 0);
    fork_launcher(start, strings->at, strings->length);
}

void take_frame(char *frame, size_t length)
{
    struct start start = {.channels = {-1, -1}};
    uint32_t text = number_at(frame);
    /* Boundary: every string that is read from here on ends inside the request. */
    require_valid_request(text > 0 && text <= length - 4 && frame[4 + text - 1] == '\0');
    struct strings strings = {frame + 4, text};
    const char *kind = next_string(&strings);
    require_valid_request(read_number(next_string(&strings), 1, MOST_NUMBER, &start.id));
    start.bytes = frame + 4 + text;
    start.byte_count = length - 4 - text;
    if (strcmp(kind, "start") == 0) {
        take_start(&start, &strings);
        return;
    }
    require_valid_request(strings.length == 0 && start.byte_count == 0);
    /* The run may have ended since the gateway wrote this; that is not an error. */
    struct served *each = find_served(start.id);
    if (strcmp(kind, "took") == 0) {
        if (each != NULL) take_ends(each);
    } else {
        require_valid_request(strcmp(kind, "kill") == 0);
        if (each != NULL) kill_served(each);
    }
}
