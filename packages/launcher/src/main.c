/*
 * palisade-launcher KEY=VALUE... -- FILE ARGV0 [ARG...]
 * palisade-launcher words=FD
 * palisade-launcher mode=serve requests=FD [handles=FD]
 *
 * Runs one command under limits that Node cannot set, and ends everything that the command started. The second form
 * reads its arguments from a descriptor. The third is the starter: it forks a launcher for each request of the gateway,
 * which is too large a process to be forked itself, and when the requests end, it ends all that it started.
 *
 * What comes in: arguments from the gateway, which are trusted but checked strictly, because an argument that is misread
 * is a limit that is missing. What is hostile: the command, from its execve on. It may have the uid of this process, so
 * the supervisor is not dumpable, shares no descriptor with the command but its standard streams, and reads nothing that
 * the command wrote: it moves its output, and of /proc it uses numbers that the kernel wrote.
 *
 * Three processes at most. The supervisor forks the command, waits, and ends what is left. With ns=1 a third waits
 * outside: the supervisor is then pid 1 of a pid namespace, which no signal from inside reaches and whose end is the end
 * of all in it; the one outside only waits, and its death is that of the supervisor. The starter, where there is one, is
 * the parent of the launchers. It alone stays dumpable, because the gateway opens pipes through it.
 *
 * With net=1 the command is in a network that has lo alone. The sockets that listen there are made here and given to
 * the gateway, so that a run reaches the gateway and nothing else, without a process between the two.
 *
 * There is no heap and no stdio: buffers are static and bounded, and between fork and exec there are system calls alone.
 * A step that fails ends the start, and never leads to a run with less than was asked for.
 *
 * One launch passes through the files in this order: options and arguments (what is asked for), descriptors, identity,
 * network, namespaces, workspace (where it runs), supervise, tree and output (the parent's side), command, confine and
 * facts (the command's side, up to its exec). text, report, proc and signals serve all of them.
 */
#include <string.h>
#include <unistd.h>

#include "descriptors.h"
#include "launch.h"
#include "options.h"
#include "report.h"
#include "starter.h"

#define VERSION "0.1.0"

int main(int count, char **words)
{
    TEXT(line, 64);
    if (count == 2 && strcmp(words[1], "--version") == 0) {
        add(&line, "palisade-launcher " VERSION);
        tell(&line, STDOUT_FILENO);
        return 0;
    }
    hold_standard_streams();
    if ((count == 3 || count == 4) && strcmp(words[1], "mode=serve") == 0) serve_requests(count - 2, words + 2);
    is_visible = true;
    return launch(count, words);
}
