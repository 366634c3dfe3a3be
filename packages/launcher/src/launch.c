#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "confine.h"
#include "descriptors.h"
#include "identity.h"
#include "launch.h"
#include "namespaces.h"
#include "options.h"
#include "report.h"
#include "supervise.h"
#include "workspace.h"

/* The command may open it by name (/dev/stdin), which checks its owner. The starter made the pipe for this run only. */
static void own_input(void)
{
    struct stat status;
    if (starter == 0 || plan.uid == 0 || fstat(STDIN_FILENO, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
    must(fchown(STDIN_FILENO, (uid_t)plan.uid, (gid_t)plan.gid) == 0, "input");
}

int launch(int count, char **arguments)
{
    TEXT(line, 64);
    if (count == 2 && strncmp(arguments[1], "words=", strlen("words=")) == 0) {
        count = wait_for_arguments(arguments[1]);
        arguments = listed_arguments;
    }
    read_arguments(count, arguments);
    close_others();
    own_input();
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
    /* Both may be inherited differently: a closed reader must not end this process, and every child is waited for. */
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGCHLD, SIG_DFL) != SIG_ERR, "signals");
    if (plan.uid == 0) require_no_host_root();
    add(&line, "launcher=1");
    if (!is_status_left()) report_status(&line);
    read_filter();
    for (size_t i = 0; i < plan.cgroup_count; i++) {
        must(write((int)plan.cgroups[i], "0", 1) == 1, "cgroup");
        (void)close((int)plan.cgroups[i]);
    }
    /* It already has a pid namespace of its own. */
    if (getpid() == 1) plan.ns = 0;
    leave_network();
    mount_workspace();
    if (plan.exec_in_place) become_command(-1, starter);
    return run_supervised();
}
