#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"
#include "kernel.h"
#include "proc.h"
#include "report.h"
#include "tree.h"

enum {
    /* Each level of the tree that is being ended takes one descriptor, and a process may have 1024 by default. */
    MAX_END_DEPTH = 200,
};

pid_t found_processes[MAX_FOUND];
static bool has_children_files;

/* Calls back for each numeric name in a directory, without the heap that opendir needs. */
static void each_number(int directory, void (*visit)(uint64_t number, void *context), void *context)
{
    static _Alignas(8) char entries[32768];
    for (;;) {
        long length = syscall(SYS_getdents64, directory, entries, sizeof entries);
        if (length <= 0) return;
        for (long at = 0; at < length;) {
            unsigned short size;
            uint64_t number;
            /* struct linux_dirent64: inode 8, offset 8, length 2, type 1, name. */
            memcpy(&size, entries + at + 16, sizeof size);
            if (read_number(entries + at + 19, 1, INT32_MAX, &number)) visit(number, context);
            at += size;
        }
    }
}

struct search {
    pid_t parent;
    size_t top;
};

static void add_found(struct search *search, uint64_t process)
{
    if (search->top < MAX_FOUND) found_processes[search->top++] = (pid_t)process;
}

static void add_children_of_thread(uint64_t thread, void *context)
{
    struct search *search = context;
    char bytes[4096];
    uint64_t number = 0;
    ssize_t length;
    int file = open_of(search->parent, thread, "children", 0);
    if (file < 0) return;
    while ((length = read(file, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < length; i++) {
            if (bytes[i] >= '0' && bytes[i] <= '9') {
                number = number * 10 + (uint64_t)(bytes[i] - '0');
            } else if (number > 0) {
                add_found(search, number);
                number = 0;
            }
        }
    }
    (void)close(file);
}

static void add_if_child(uint64_t process, void *context)
{
    struct search *search = context;
    struct process_stat stat_of;
    if (look_at((pid_t)process, &stat_of) && stat_of.parent == search->parent) add_found(search, process);
}

/* Puts the children of a process on `found_processes` from `top` on, and returns the new top. */
size_t find_children(pid_t parent, size_t top)
{
    struct search search = {parent, top};
    int directory = has_children_files ? open_of(parent, 0, "task", O_DIRECTORY)
                                       : open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return top;
    each_number(directory, has_children_files ? add_children_of_thread : add_if_child, &search);
    (void)close(directory);
    return search.top;
}

/* Not every kernel has these files; without them every process is examined. */
void find_children_files(void)
{
    int children = open_of(getpid(), (uint64_t)getpid(), "children", O_PATH);
    has_children_files = children >= 0;
    close_one(&children);
    must(has_children_files || access("/proc/self/stat", R_OK) == 0, "proc");
}

static int send_signal(int handle, pid_t process, int number)
{
    return handle < 0 ? kill(process, number) : (int)syscall(NR_pidfd_send_signal, handle, number, NULL, 0);
}

/*
 * Ends a process and all below it: they are stopped on the way down, so that none forks during the scan, and killed on
 * the way up. A pid alone proves nothing, since it may be reused. The pid of an own child stays reserved until it is
 * waited for here. For any other process a pidfd is opened first; it is the right one if its parent pid matches and the
 * parent, which also has a pidfd, was still alive after that was read.
 */
void end_branch(pid_t process, const struct branch *parent)
{
    struct branch self = {process, -1, parent->depth + 1, parent->top};
    struct process_stat stat_of;
    if (self.depth > 1) {
        self.handle = (int)syscall(NR_pidfd_open, process, 0);
        if (self.handle < 0) return;
        if (!look_at(process, &stat_of) || stat_of.parent != parent->process ||
            send_signal(parent->handle, parent->process, 0) != 0) {
            (void)close(self.handle);
            return;
        }
    }
    (void)send_signal(self.handle, process, SIGSTOP);
    if (self.depth < MAX_END_DEPTH) {
        size_t from = self.top;
        self.top = find_children(process, from);
        for (size_t i = from; i < self.top; i++) end_branch(found_processes[i], &self);
    }
    (void)send_signal(self.handle, process, SIGKILL);
    if (self.handle >= 0) (void)close(self.handle);
}

void end_children(void)
{
    struct branch root = {getpid(), -1, 0, 0};
    if (root.process == 1) {
        /* All processes in this pid namespace except this one. */
        (void)kill(-1, SIGKILL);
        return;
    }
    root.top = find_children(root.process, 0);
    for (size_t i = 0, end = root.top; i < end; i++) end_branch(found_processes[i], &root);
}
