#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "report.h"
#include "signals.h"

int signal_source = -1;

/* Ignored and blocked signals stay so through exec, and Node ignores SIGPIPE. */
void reset_signals(void)
{
    sigset_t none;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        if (number == SIGKILL || number == SIGSTOP) continue;
        /* The signals that libc reserves for its threads are refused; it does not change them either. */
        if (sigaction(number, &plain, NULL) != 0 && errno != EINVAL) fail("signals", errno);
    }
    must(sigemptyset(&none) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0, "signals");
}

/* The process that started this one. It and the kernel may end the run; its pid means nothing in a new pid namespace. */
static pid_t orderer;

/*
 * Boundary: the command can signal the launcher too, where it may, and with rt_sigqueueinfo in any name. The kernel
 * vouches for the sender of SI_USER and SI_KERNEL alone; a sender outside this pid namespace is 0.
 */
bool is_order(int number, int code, pid_t sender)
{
    if (number == SIGCHLD) return false;
    return code == SI_KERNEL || (code == SI_USER && (sender == 0 || (getpid() != 1 && sender == orderer)));
}

/* Reads pending signals; returns whether one orders the end. */
bool take_signals(void)
{
    struct signalfd_siginfo signal;
    bool is_ordered = false;
    while (read(signal_source, &signal, sizeof signal) == (ssize_t)sizeof signal)
        if (is_order((int)signal.ssi_signo, signal.ssi_code, (pid_t)signal.ssi_pid)) is_ordered = true;
    return is_ordered;
}

void block_signals(sigset_t *set)
{
    orderer = getppid();
    must(sigemptyset(set) == 0, "signals");
    for (size_t i = 0; i < 4; i++) must(sigaddset(set, (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP}[i]) == 0, "signals");
    must(sigprocmask(SIG_BLOCK, set, NULL) == 0, "signals");
}
