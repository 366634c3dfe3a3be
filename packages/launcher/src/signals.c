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

/* Reads pending signals; returns whether one is a termination signal. Processes in the namespace can send them too, and
 * are ignored. */
bool take_signals(void)
{
    struct signalfd_siginfo signal;
    bool is_ordered = false;
    while (read(signal_source, &signal, sizeof signal) == (ssize_t)sizeof signal)
        if (signal.ssi_signo != SIGCHLD && (getpid() != 1 || signal.ssi_pid == 0)) is_ordered = true;
    return is_ordered;
}

void block_signals(sigset_t *set)
{
    must(sigemptyset(set) == 0, "signals");
    for (size_t i = 0; i < 4; i++) must(sigaddset(set, (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP}[i]) == 0, "signals");
    must(sigprocmask(SIG_BLOCK, set, NULL) == 0, "signals");
}
