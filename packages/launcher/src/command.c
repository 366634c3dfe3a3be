#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "command.h"
#include "confine.h"
#include "connects.h"
#include "executable.h"
#include "facts.h"
#include "identity.h"
#include "options.h"
#include "report.h"
#include "signals.h"

/* Never returns: becomes the command, or reports why not. The order matters: each step needs what a later one removes. */
_Noreturn void become_command(int outer_proc, pid_t parent)
{
    /* The process may already lead a session of its own. */
    must(setsid() >= 0 || getsid(0) == getpid(), "session");
    reset_signals();
    (void)umask(022);
    if (plan.ns == 0) take_identity();
    if (is_host_root()) fail("host-root", EPERM);
    /* After the change of identity, which would clear it. If the parent is already dead, the command is not started. */
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "parent-death");
    if (parent != 0 && getppid() != parent) _exit(EXIT_SETUP);
    enter_directory();
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no-new-privs");
    drop_capabilities();
    open_facts();
    restrict_files();
    for (size_t i = 0; i < plan.kept_count; i++) must(fcntl((int)plan.kept[i], F_SETFD, 0) == 0, "keep");
    limit_resources();
    apply_filter();
    if (!is_status_left()) {
        report_facts();
        report_pid(outer_proc);
    }
    /* After the facts: the filter that they prove is that of the sandbox, not this one. */
    send_connects();
    require_held();
    char **variables = plan.has_own_variables ? plan.variables : environ;
    if (executable_error == 0 && executable >= 0)
        (void)syscall(SYS_execveat, executable, "", plan.argv, variables, AT_EMPTY_PATH);
    else if (executable_error == 0) (void)execve(plan.file, plan.argv, variables);
    int error = executable_error == 0 ? errno : executable_error;
    TEXT(line, 256);
    add(&line, "execerror=");
    add_number(&line, (uint64_t)error);
    add_byte(&line, ' ');
    add(&line, name_of_error(error));
    report_status(&line);
    add(&line, "Cannot run the command: its file fails with ");
    add(&line, name_of_error(error));
    write_line(&line, STDERR_FILENO);
    if (exec_report >= 0) write_all(exec_report, "E", 1);
    _exit(error == ENOENT ? EXIT_ABSENT : EXIT_EXEC);
}
