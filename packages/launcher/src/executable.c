#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executable.h"
#include "kernel.h"
#include "options.h"
#include "report.h"
#include "sha256.h"

/*
 * A file that only root can change is recognised by its numbers, and executed through the descriptor that showed them.
 * Any other file can be written or replaced at every moment, and a write through shared memory leaves its numbers as
 * they are. So the digest of a program is computed here, while a lease keeps the file from being opened for writing; the
 * kernel keeps it from that as soon as it is executed. Without a lease, a copy in sealed memory is executed. A
 * script is opened by its interpreter, by a path, so it is copied to where nothing outside of this run can reach it.
 */

static const char STEP[] = "executable";
/* Exists in every /proc, and no command needs what is below it. */
static const char PLACE[] = "/proc/driver";

int executable = -1;
int executable_error = 0;
static bool is_leased = false;

/* Boundary: a lease that the kernel has taken away, because someone waited long enough to write, proves nothing. */
void require_held(void)
{
    if (is_leased && fcntl(executable, F_GETLEASE) != F_RDLCK) fail(STEP, ESTALE);
}

static void require_same(const struct held_file *file)
{
    struct stat status;
    int found = open(file->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (found < 0) {
        executable_error = errno;
        return;
    }
    must(fstat(found, &status) == 0, STEP);
    const uint64_t is[HELD_NUMBERS] = {status.st_dev,
                                       status.st_ino,
                                       (uint64_t)status.st_size,
                                       (uint64_t)status.st_mtim.tv_sec,
                                       (uint64_t)status.st_mtim.tv_nsec,
                                       (uint64_t)status.st_ctim.tv_sec,
                                       (uint64_t)status.st_ctim.tv_nsec};
    /* Boundary: another file than the one that was judged is not executed. */
    if (memcmp(is, file->numbers, sizeof is) != 0) fail(STEP, ESTALE);
    if (strcmp(file->path, plan.file) == 0) executable = found;
    else (void)close(found);
}

static void write_copy(int copy, const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t count = write(copy, bytes, length);
        if (count < 0 && errno == EINTR) continue;
        must(count >= 0, STEP);
        bytes += count;
        length -= (size_t)count;
    }
}

/* Reads a file, copies it unless `copy` is -1, and fails unless what was read has the digest that was judged. */
static void read_judged(int original, int copy, const struct held_file *file)
{
    static unsigned char bytes[262144];
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    sha256_begin(&hash);
    /* Boundary: one that grows is not read for ever. */
    while (hash.length <= file->size) {
        ssize_t count = read(original, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR) continue;
        must(count >= 0, STEP);
        if (count == 0) break;
        sha256_add(&hash, bytes, (size_t)count);
        if (copy >= 0) write_copy(copy, bytes, (size_t)count);
    }
    sha256_end(&hash, digest);
    if (memcmp(digest, file->digest, sizeof digest) != 0) fail(STEP, ESTALE);
}

/* Opens a file that is to be read, or returns -1. What is executed from a copy has to be executable where it is. */
static int open_original(const struct held_file *file)
{
    struct stat status;
    int original = open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (original >= 0 && access(file->path, X_OK) == 0) {
        must(fstat(original, &status) == 0, STEP);
        if (S_ISREG(status.st_mode)) return original;
        errno = EACCES;
    }
    executable_error = errno;
    return -1;
}

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* A sealed copy has no path, which some programs need to find their own files. */
static int copy_to_memory(int original, const struct held_file *file)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int copy = memfd_create(name_of(file->path), flags | MEMFD_EXEC);
    /* Before Linux 6.3. */
    if (copy < 0 && errno == EINVAL) copy = memfd_create(name_of(file->path), flags);
    must(copy >= 0, STEP);
    read_judged(original, copy, file);
    must(fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0, STEP);
    (void)close(original);
    return copy;
}

static void hold_program(const struct held_file *file)
{
    int original = open_original(file);
    if (original < 0) return;
    /* A process that wants to write waits, and the kernel sends this signal. */
    must(signal(SIGIO, SIG_IGN) != SIG_ERR, "signals");
    if (fcntl(original, F_SETLEASE, F_RDLCK) != 0) {
        /* Open for writing: the kernel would not execute it. Any other error: not ours, or not that file system. */
        if (errno == EAGAIN) executable_error = ETXTBSY;
        else executable = copy_to_memory(original, file);
        return;
    }
    read_judged(original, -1, file);
    executable = original;
    is_leased = true;
}

/* The copy of a script keeps its name, and has a directory of its own. */
static void copy_script(const struct held_file *file, size_t index)
{
    TEXT(path, 512);
    int original = open_original(file);
    if (original < 0) return;
    add(&path, plan.copies);
    add_byte(&path, '/');
    add_number(&path, index);
    must(mkdir(string_of(&path), 0755) == 0, STEP);
    add_byte(&path, '/');
    add(&path, name_of(file->path));
    int copy = open(string_of(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
    must(copy >= 0, STEP);
    read_judged(original, copy, file);
    (void)close(copy);
    (void)close(original);
}

/* A file system in memory that only the processes of this run can see; it needs the capabilities over a namespace. */
static void mount_place(void)
{
    if (getpid() != 1) fail(STEP, EOPNOTSUPP);
    must(unshare(CLONE_NEWNS) == 0, STEP);
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, STEP);
    must(mount("palisade", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") == 0, STEP);
    plan.copies = PLACE;
}

static void copy_scripts(void)
{
    bool is_mounted = plan.copies == NULL;
    if (is_mounted) mount_place();
    else must(mkdir(plan.copies, 0755) == 0, STEP);
    for (size_t i = 0; i < plan.held_count; i++)
        if (plan.held[i].kind == HELD_SCRIPT) copy_script(&plan.held[i], i);
    if (is_mounted)
        must(mount(NULL, PLACE, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) == 0, STEP);
}

/* Finds what the command is executed from. After this, a change of its files has no effect on that. */
void hold_executable(void)
{
    bool has_scripts = false;
    for (size_t i = 0; i < plan.held_count; i++) has_scripts = has_scripts || plan.held[i].kind == HELD_SCRIPT;
    /* First, since a mount namespace has its own view of every path. */
    if (has_scripts) copy_scripts();
    for (size_t i = 0; i < plan.held_count; i++) {
        if (plan.held[i].kind == HELD_SAME) require_same(&plan.held[i]);
        if (plan.held[i].kind == HELD_PROGRAM) hold_program(&plan.held[i]);
    }
}
