#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "account.h"
#include "arguments.h"
#include "command.h"
#include "connects.h"
#include "descriptors.h"
#include "executable.h"
#include "identity.h"
#include "namespaces.h"
#include "options.h"
#include "output.h"
#include "ports.h"
#include "proc.h"
#include "report.h"
#include "signals.h"
#include "supervise.h"
#include "tail.h"
#include "tree.h"

struct run run;

enum {
    CPU_LOOK_MS = 20,
    CPU_LOOK_MOST_MS = 1000,
    /* Samples take at most this part of one processor: one in so many. */
    SAMPLE_SHARE = 20,
    /* How long to wait at the end for a process in an uninterruptible sleep. */
    END_TIMEOUT_MS = 10000,
};

/* Waits for all processes that have ended. False if there are no children left. */
static bool reap(void)
{
    for (;;) {
        int status;
        struct rusage usage;
        pid_t process = wait4(-1, &status, WNOHANG | __WALL, &usage);
        if (process == 0) return true;
        if (process < 0 && errno == EINTR) continue;
        if (process < 0) return false;
        if (process == run.command) {
            run.ended = true;
            run.status = status;
            run.command_cpu_us = microseconds_of(usage.ru_utime) + microseconds_of(usage.ru_stime);
        } else if (run.is_ending && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
            run.left += 1;
        }
    }
}

/* Ends all that is left, however deep it is and however often it forks. False if something did not end in time. */
bool end_tree(void)
{
    uint64_t deadline = now_us() + (uint64_t)END_TIMEOUT_MS * 1000;
    run.is_ending = true;
    while (reap()) {
        end_children();
        if (!reap()) return true;
        if (now_us() > deadline) return false;
        /* A death wakes it; becoming an orphan does not. */
        struct pollfd wait = {signal_source, POLLIN, 0};
        (void)poll(&wait, 1, 1);
        (void)take_signals();
    }
    return true;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * The earliest time at which the tree can have used up its processor time: on all processors at once, from now on. A
 * command that sleeps or has much time left is rarely measured. With sample=1 nothing else counts the time of processes
 * that no one waits for, so none may go unseen for long.
 */
static uint64_t next_look_us(uint64_t now, uint64_t used_us)
{
    if (plan.sample != 0) {
        uint64_t taken = now_us() - now;
        return now + (taken * SAMPLE_SHARE > CPU_LOOK_MS * 1000 ? taken * SAMPLE_SHARE : CPU_LOOK_MS * 1000);
    }
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t left = plan.cpu_ms * 1000 - used_us;
    uint64_t wait = left / (uint64_t)(processors < 1 ? 1 : processors);
    if (wait < CPU_LOOK_MS * 1000) wait = CPU_LOOK_MS * 1000;
    return now + least_of(wait, CPU_LOOK_MOST_MS * 1000);
}

/* Checks the clocks; returns how long the next wait may be, in ms, or -1. */
static int check_clocks(uint64_t wall_end, uint64_t *look)
{
    uint64_t now = now_us(), next = UINT64_MAX;
    if (plan.wall_ms != 0) {
        if (now >= wall_end) run.stop = STOP_WALL;
        next = wall_end;
    }
    if (plan.cpu_ms != 0 && run.stop == STOP_NONE) {
        if (now >= *look) {
            uint64_t used = tree_cpu_us();
            if (used >= plan.cpu_ms * 1000) run.stop = STOP_CPU;
            else *look = next_look_us(now, used);
        }
        next = least_of(next, *look);
    }
    if (next == UINT64_MAX) return -1;
    return next <= now ? 0 : (int)least_of((next - now) / 1000 + 1, 3600000);
}

/* Asks the command and its process group to end; before it has a group of its own, only itself. */
static void ask_to_end(void)
{
    if (kill(-run.command, SIGTERM) != 0) (void)kill(run.command, SIGTERM);
}

/*
 * On the control descriptor: a T asks the command to end, a C and the number of a port for a connection to that port. Any
 * other byte, the end, or an error cancels the run.
 */
bool is_cancelled(short events)
{
    char byte = '\0';
    if (events == 0) return false;
    if (read((int)plan.control, &byte, 1) != 1) return true;
    if (byte == 'C') return read((int)plan.control, &byte, 1) != 1 || !connect_port((unsigned char)byte);
    if (byte == 'T' && !run.ended) ask_to_end();
    return byte != 'T';
}

/* Waits until the command has ended or must end. */
static void attend(uint64_t start)
{
    uint64_t wall_end = start + plan.wall_ms * 1000;
    uint64_t look = next_look_us(start, 0);
    struct pollfd watched[5];
    watched[0] = (struct pollfd){signal_source, POLLIN, 0};
    watched[1] = (struct pollfd){plan.control == 0 ? -1 : (int)plan.control, POLLIN, 0};
    for (;;) {
        if (!reap() || run.ended) return;
        int timeout = check_clocks(wall_end, &look);
        if (run.stop != STOP_NONE || run.cancelled) return;
        timeout = retry_connects(timeout);
        watched[2] = (struct pollfd){connect_source, POLLIN, 0};
        size_t count = watch_streams(watched + 3);
        if (poll(watched, (nfds_t)(3 + count), timeout) < 0) {
            if (errno != EINTR) fail("poll", errno);
            continue;
        }
        run.cancelled = (watched[0].revents != 0 && take_signals()) || is_cancelled(watched[1].revents);
        answer_connects(watched[2].revents);
        for (size_t i = 3; i < 3 + count; i++)
            for (size_t k = 0; watched[i].revents != 0 && k < COUNT(streams); k++)
                if (streams[k].from == watched[i].fd || (streams[k].from >= 0 && streams[k].to == watched[i].fd))
                    (void)serve(&streams[k]);
    }
}

static void add_field(struct text *text, const char *name, uint64_t number)
{
    add(text, name);
    add_number(text, number);
    add_byte(text, '\n');
}

/* The kernel's own limit of processor time kills without a report. */
static bool was_ended_by_rlimit(void)
{
    uint64_t limit_s = rlimits[RLIMIT_KEY_CPU].value;
    if (limit_s == 0 || !WIFSIGNALED(run.status) || run.is_ending) return false;
    int number = WTERMSIG(run.status);
    /* It counts ticks, which were up to 6 % off on a loaded machine; rusage is exact. */
    return number == SIGXCPU || (number == SIGKILL && run.command_cpu_us >= limit_s * 750000);
}

static void report_end(uint64_t wall_us)
{
    static const char *const LIMITS[] = {"", "limit=cpu\n", "limit=wall\n", "limit=output\n"};
    struct rusage usage;
    TEXT(text, 1024);
    must(getrusage(RUSAGE_CHILDREN, &usage) == 0, "usage");
    add(&text, LIMITS[run.stop]);
    if (run.cancelled) add(&text, "cancelled=1\n");
    if (WIFSIGNALED(run.status)) add_field(&text, "signal=", (uint64_t)WTERMSIG(run.status));
    else add_field(&text, "exit=", (uint64_t)WEXITSTATUS(run.status));
    add_field(&text, "utime_us=", microseconds_of(usage.ru_utime));
    add_field(&text, "stime_us=", microseconds_of(usage.ru_stime));
    add_field(&text, "lost_us=", close_account());
    add_field(&text, "maxrss_kb=", (uint64_t)usage.ru_maxrss);
    add_field(&text, "inblock=", (uint64_t)usage.ru_inblock);
    add_field(&text, "oublock=", (uint64_t)usage.ru_oublock);
    add_field(&text, "wall_us=", wall_us);
    if (plan.cut != 0) {
        add_field(&text, "dropped_stdout=", tails[0].dropped);
        add_field(&text, "dropped_stderr=", tails[1].dropped);
    }
    if (plan.connects != 0) add_field(&text, "outward=", outward_connects);
    add_field(&text, "output_bytes=", run.delivered);
    add_field(&text, "left=", run.left);
    add(&text, "done=1");
    report_status(&text);
}

static void fork_command(int outer_proc, int *report)
{
    int ends[2], gate[2], writers[2];
    char byte;
    pid_t self = getpid();
    open_streams(writers);
    open_connects();
    must(pipe2(ends, O_CLOEXEC) == 0 && pipe2(gate, O_CLOEXEC) == 0, "report");
    run.command = fork();
    must(run.command >= 0, "fork");
    if (run.command == 0) {
        /* It has its own copy of the arguments, and waits until those of its parent, which others can see, are wiped. */
        (void)close(gate[1]);
        while (is_visible && read(gate[0], &byte, 1) < 0 && errno == EINTR) continue;
        (void)close(gate[0]);
        exec_report = ends[1];
        for (int i = 0; i < 2; i++)
            if (writers[i] >= 0) must(dup2(writers[i], i + 1) == i + 1, "output");
        become_command(outer_proc, self);
    }
    has_tree = true;
    wipe_arguments();
    (void)close(gate[0]);
    (void)close(gate[1]);
    (void)close(ends[1]);
    for (int i = 0; i < 2; i++) close_one(&writers[i]);
    *report = ends[0];
    receive_connects();
}

/* Runs the command to its end and returns the exit status that represents it. */
static int supervise(int outer_proc)
{
    int report;
    char how = '\0';
    wait_for_command();
    hold_executable();
    if (getpid() == 1) drop_capabilities();
    find_children_files();
    must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "subreaper");
    uint64_t start = now_us();
    fork_command(outer_proc, &report);
    /* Descriptors that only the command uses must be closed when the command closes them. */
    (void)close(STDIN_FILENO);
    close_one(&outer_proc);
    /* The lease on it ends when the command has been executed. */
    close_one(&executable);
    for (size_t i = 0; i < plan.kept_count; i++) (void)close((int)plan.kept[i]);
    attend(start);
    uint64_t wall_us = now_us() - start;
    if (run.ended && was_ended_by_rlimit()) run.stop = STOP_CPU;
    /* Once they are killed, no one may wait for those that are left. */
    (void)tree_cpu_us();
    has_tree = false;
    if (!end_tree()) fail("end", ETIMEDOUT);
    drain();
    /* A process that failed before its exec has reported that itself. */
    if (read(report, &how, 1) == 1 && how == 'F') return EXIT_SETUP;
    report_end(wall_us);
    return WIFSIGNALED(run.status) ? 128 + WTERMSIG(run.status) : WEXITSTATUS(run.status);
}

/* The process outside the namespaces: forwards termination signals, and the exit status. */
_Noreturn static void wait_outside(pid_t inner, const sigset_t *signals)
{
    wipe_arguments();
    (void)close(STDIN_FILENO);
    for (size_t i = 0; i < plan.kept_count; i++) (void)close((int)plan.kept[i]);
    /* The process inside has sent its listeners, or is about to. */
    if (plan.handles != 0) (void)close((int)plan.handles);
    if (plan.sockets != 0) (void)close((int)plan.sockets);
    for (;;) {
        siginfo_t signal;
        int status, number = sigwaitinfo(signals, &signal);
        if (number > 0 && is_order(number, signal.si_code, signal.si_pid)) (void)kill(inner, SIGTERM);
        if (waitpid(inner, &status, WNOHANG) != inner || (!WIFEXITED(status) && !WIFSIGNALED(status))) continue;
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
}

/* If the run was cancelled meanwhile, nothing is started. */
static void check_control(void)
{
    struct pollfd control = {(int)plan.control, POLLIN, 0};
    TEXT(line, 64);
    if (plan.control == 0 || poll(&control, 1, 0) == 0) return;
    add(&line, "cancelled=1");
    report_status(&line);
    refuse("control", "has ended or been written to already", "one that is held");
}

int run_supervised(void)
{
    sigset_t signals;
    int life[2], outer_proc = -1;
    check_control();
    block_signals(&signals);
    /* A termination signal rather than SIGKILL: a supervisor that dies at once would leave processes of other sessions. */
    must(prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0, "parent-death");
    if (starter != 0 && getppid() != starter) _exit(EXIT_SETUP);
    if (plan.ns != 0) {
        uid_t uid = geteuid();
        gid_t gid = getegid();
        outer_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        must(outer_proc >= 0 && pipe2(life, O_CLOEXEC) == 0, "namespaces");
        pid_t inner = fork_into_namespaces();
        if (inner > 0) wait_outside(inner, &signals);
        (void)close(life[1]);
        enter_namespaces(uid, gid);
        must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "parent-death");
        /* The parent has no pid in this namespace to compare with; it alone has the other end of this pipe. */
        struct pollfd outside = {life[0], POLLIN, 0};
        if (poll(&outside, 1, 0) != 0) _exit(EXIT_SETUP);
        (void)close(life[0]);
    }
    signal_source = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    must(signal_source >= 0, "signals");
    return supervise(outer_proc);
}
