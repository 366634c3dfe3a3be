/*
 * palisade-launcher KEY=VALUE... -- FILE ARGV0 [ARG...]
 * palisade-launcher words=FD
 * palisade-launcher mode=serve requests=FD [handles=FD]
 * palisade-launcher mode=service -- FILE [ARG...]
 *
 * Runs one command under limits that Node cannot set, and ends everything that the command started. The second form
 * reads its arguments from a descriptor. The third is the starter: it forks a launcher for each request of the gateway,
 * which is too large a process to be forked itself. When the requests end, the starter ends all that it started. The
 * fourth becomes the gateway as a service of systemd (service.c), and is no launch.
 *
 * Input: arguments from the gateway, which are trusted but checked strictly, because a misread argument is a missing
 * limit. Hostile: the command, from its execve on. It may have the uid of this process, so the supervisor is not
 * dumpable, shares no descriptor with the command except its standard streams, and parses nothing that the command
 * wrote: it only copies its output, and of /proc it uses numbers that the kernel wrote.
 *
 * There are at most three processes. The supervisor forks the command, waits, and ends what is left. With ns=1 a third
 * one waits outside: the supervisor is then pid 1 of a pid namespace, no signal from inside reaches it, and when it ends
 * the kernel ends everything in the namespace; if the process outside dies, so does the supervisor. The starter, if
 * there is one, is the parent of the launchers. It alone stays dumpable, because the gateway opens pipes through it.
 *
 * With net=1 the command has a network namespace with only lo. The launcher creates the listening sockets there and
 * sends them to the gateway, so that a run can reach the gateway and nothing else, without a process between the two. With
 * port=N the supervisor connects to that port of loopback whenever the gateway asks, and sends it the connected socket.
 *
 * There is no heap and no stdio: buffers are static and bounded, and between fork and exec there are only system calls.
 * A step that fails ends the start, and never leads to a run with fewer limits than requested.
 *
 * One launch uses the files in this order: options and arguments (what is requested), descriptors, identity, network,
 * namespaces, workspace (where it runs), executable and sha256 (what runs), supervise, tree, account, output and tail (the
 * parent's side), connects (what the command asks it), ports (what the gateway asks it), command, confine, facts and gate
 * (the command's side, up to its exec). text, report, proc, mounts and signals serve all of them.
 */
#include <string.h>
#include <unistd.h>

#include "descriptors.h"
#include "launch.h"
#include "options.h"
#include "report.h"
#include "service.h"
#include "starter.h"

#define VERSION "0.1.0"

int main(int count, char **arguments)
{
    TEXT(line, 64);
    if (count == 2 && strcmp(arguments[1], "--version") == 0) {
        add(&line, "palisade-launcher " VERSION);
        write_line(&line, STDOUT_FILENO);
        return 0;
    }
    hold_standard_streams();
    if ((count == 3 || count == 4) && strcmp(arguments[1], "mode=serve") == 0) serve_requests(count - 2, arguments + 2);
    if (count >= 2 && strcmp(arguments[1], "mode=service") == 0) become_service(count - 2, arguments + 2);
    is_visible = true;
    return launch(count, arguments);
}
