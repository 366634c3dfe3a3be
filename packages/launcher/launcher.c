/*
 * palisade-launcher KEY=VALUE... -- FILE ARGV0 [ARG...]
 * palisade-launcher words=FD
 * palisade-launcher mode=serve requests=FD [handles=FD]
 *
 * Runs one command under limits that Node cannot set, and ends everything that the command started. The second form
 * waits for its words on a descriptor. The third one is the starter: it forks a launcher for each request of the gateway,
 * which is too large a process to be forked itself, and when the requests end, it ends all that it started.
 *
 * What comes in: words from the gateway, which are trusted but checked strictly, because a word that is misread is a
 * limit that is not there. What is hostile: the command, from its execve on. It may have the uid of this process, so the
 * supervisor is not dumpable, keeps no descriptor in common with the command but its standard streams, and reads nothing
 * that the command wrote: it moves its output, and of /proc it uses numbers that the kernel wrote.
 *
 * Three processes at most. The supervisor forks the command, waits, and ends what is left. With ns=1 a third stands
 * outside: the supervisor is then pid 1 of a pid namespace, which no signal from inside reaches and whose end is the end
 * of all in it; the one outside only waits, and its death is that of the supervisor. Before all of them may stand the
 * starter, whose children are the launchers. It alone stays dumpable, because the gateway opens pipes through it.
 *
 * With net=1 the command is in a network that has lo alone. The sockets that listen there are made here and given to
 * the gateway, so that a run reaches the gateway and nothing else, and nobody stands between the two.
 *
 * There is no heap and no stdio: buffers are static and bounded, and between fork and exec there are system calls alone.
 * A step that fails ends the start, and never leads to a run with less than was asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VERSION "0.1.0"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Exit statuses of the launcher itself, those of env(1) and timeout(1). */
enum { EXIT_SETUP = 125, EXIT_EXEC = 126, EXIT_ABSENT = 127 };

enum {
    MAX_DESCRIPTORS = 64,
    MAX_DESCRIPTOR = 1048576,
    /* The standard streams and as many as a run may keep. */
    MAX_GIVEN = MAX_DESCRIPTORS + 3,
    MAX_RUNS = 256,
    MAX_MAPS = 8,
    MAX_FRAME = 8388608,
    MAX_WORDS = 262144,
    MAX_VARIABLES = 4096,
    MAX_LISTENERS = 64,
    /* Connections that wait for the gateway to accept them. */
    LISTEN_BACKLOG = 128,
    /* How often a listener is sent to a gateway that says that it did not get it. */
    HANDLE_TRIES = 4,
    /* What a larger request took of memory is given back, for each fork would copy the table of its pages. */
    FRAME_KEPT_BYTES = 262144,
    MAX_RULES = 1024,
    MAX_FILTER = 4096,
    /* Processes that one look at the tree can hold; more of them are seen by the next look. */
    MAX_FOUND = 65536,
    /* Each level of the tree that is being ended holds one descriptor, and 1024 are what a process has by default. */
    MAX_END_DEPTH = 200,
    MAX_MEASURE_DEPTH = 4000,
    COPY_BYTES = 65536,
    SPLICE_BYTES = 1048576,
    CPU_LOOK_MS = 20,
    CPU_LOOK_MOST_MS = 1000,
    /* How long the end waits for a process in an uninterruptible sleep, and for a reader that does not read. */
    END_PATIENCE_MS = 10000,
    DRAIN_PATIENCE_MS = 5000,
};

/* Numbers and structures of the kernel that the headers of glibc 2.31 lack; x86-64 and arm64 have the same numbers. */
enum {
    NR_pidfd_send_signal = 424,
    NR_open_tree = 428,
    NR_move_mount = 429,
    NR_pidfd_open = 434,
    NR_close_range = 436,
    NR_mount_setattr = 442,
    NR_landlock_create_ruleset = 444,
    NR_landlock_add_rule = 445,
    NR_landlock_restrict_self = 446,
};
enum { MEMFD_NOEXEC_SEAL = 8 };
enum { OPEN_TREE_CLONE_FLAG = 1, MOVE_MOUNT_FROM_FD = 4, MOVE_MOUNT_TO_FD = 0x40 };
enum { ATTR_NOSUID = 2, ATTR_NODEV = 4, ATTR_IDMAP = 0x100000 };
struct kernel_mount_attr {
    uint64_t set, clear, propagation, user_namespace;
};
struct kernel_landlock_ruleset {
    uint64_t files, network, scoped;
};
struct kernel_landlock_beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));
struct kernel_landlock_port {
    uint64_t allowed, port;
};
enum {
    LL_EXECUTE = 1 << 0, LL_WRITE_FILE = 1 << 1, LL_READ_FILE = 1 << 2, LL_READ_DIR = 1 << 3,
    LL_FIRST_ABI = (1 << 13) - 1, LL_REFER = 1 << 13, LL_TRUNCATE = 1 << 14, LL_IOCTL_DEV = 1 << 15,
    LL_OF_FILES = LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV,
    LL_READ = LL_EXECUTE | LL_READ_FILE | LL_READ_DIR,
    LL_TCP = 3, LL_CONNECT_TCP = 2, LL_SCOPES = 3,
    LL_RULE_BENEATH = 1, LL_RULE_PORT = 2,
};

/* ---- The plan: what the words say. A number of 0 is one that was not given, because no key takes a 0. ---- */

struct rlimit_key {
    const char *name;
    int resource;
    uint64_t value;
};
static struct rlimit_key rlimits[] = {
    {"cpu", RLIMIT_CPU, 0},       {"data", RLIMIT_DATA, 0},   {"fsize", RLIMIT_FSIZE, 0},
    {"nofile", RLIMIT_NOFILE, 0}, {"nproc", RLIMIT_NPROC, 0}, {"stack", RLIMIT_STACK, 0},
};

struct rule {
    const char *path;
    bool writable;
};
struct listener {
    bool is_six;
    uint32_t address;
    uint16_t port;
};
static struct {
    uint64_t cpu_ms, wall_ms, output, status, control, words, seccomp, ns, uid, gid, workspace, map, chdir, facts;
    uint64_t net, handles;
    bool has_mode, exec_in_place, has_owner, has_own_variables;
    uint64_t owner_uid, owner_gid;
    const char *cwd;
    uint64_t cgroups[MAX_DESCRIPTORS], kept[MAX_DESCRIPTORS];
    size_t cgroup_count, kept_count, rule_count, variable_count, listener_count;
    struct rule rules[MAX_RULES];
    struct listener listeners[MAX_LISTENERS];
    char *variables[MAX_VARIABLES + 1];
    const char *file;
    char **argv;
} plan;

static const uint64_t MOST_NUMBER = UINT64_C(1) << 53;
static const struct {
    const char *name;
    uint64_t *value, least, most;
} NUMBERS[] = {
    {"cpums", &plan.cpu_ms, 1, UINT32_MAX},
    {"wallms", &plan.wall_ms, 1, UINT32_MAX},
    {"output", &plan.output, 1, UINT64_C(1) << 53},
    {"status", &plan.status, 3, MAX_DESCRIPTOR},
    {"control", &plan.control, 3, MAX_DESCRIPTOR},
    {"words", &plan.words, 3, MAX_DESCRIPTOR},
    {"seccomp", &plan.seccomp, 3, MAX_DESCRIPTOR},
    {"workspace", &plan.workspace, 3, MAX_DESCRIPTOR},
    {"map", &plan.map, 3, MAX_DESCRIPTOR},
    {"handles", &plan.handles, 3, MAX_DESCRIPTOR},
    {"ns", &plan.ns, 1, 1},
    {"net", &plan.net, 1, 1},
    {"chdir", &plan.chdir, 1, 1},
    {"facts", &plan.facts, 1, 1},
    /* Boundary: 0 is no uid and no gid that a command could have; the last one is the kernel's "none". */
    {"uid", &plan.uid, 1, UINT32_MAX - 1},
    {"gid", &plan.gid, 1, UINT32_MAX - 1},
};

/* ---- Text: bounded, without libc's formatting, which is not made for the time between fork and exec. ---- */

struct text {
    char *bytes;
    size_t size, length;
};
#define TEXT(name, capacity) \
    char name##_bytes[capacity]; \
    struct text name = {name##_bytes, sizeof name##_bytes, 0}

/* One byte is kept free for the end of a line or of a string. */
static void add_byte(struct text *text, char byte)
{
    if (text->length + 1 < text->size) text->bytes[text->length++] = byte;
}

static void add(struct text *text, const char *words)
{
    while (*words != '\0') add_byte(text, *words++);
}

static void add_number(struct text *text, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) add_byte(text, digits[--count]);
}

/* Boundary: what others named (paths, words) can end no line and no list; `also` is escaped besides. */
static void add_escaped(struct text *text, const char *words, char also)
{
    static const char HEX[] = "0123456789abcdef";
    for (; *words != '\0'; words++) {
        unsigned char byte = (unsigned char)*words;
        if (byte >= 0x20 && byte <= 0x7e && byte != '\\' && *words != also) {
            add_byte(text, *words);
        } else {
            /* Never half of an escape: a reader could not tell what it is. */
            if (text->length + 4 >= text->size) return;
            add(text, "\\x");
            add_byte(text, HEX[byte >> 4]);
            add_byte(text, HEX[byte & 15]);
        }
    }
}

static const char *string_of(struct text *text)
{
    text->bytes[text->length] = '\0';
    return text->bytes;
}

#define ERROR(name) {name, #name}
static const struct {
    int number;
    const char *name;
} ERRORS[] = {
    ERROR(EPERM), ERROR(ENOENT), ERROR(ESRCH), ERROR(EINTR), ERROR(EIO), ERROR(ENXIO), ERROR(E2BIG),
    ERROR(ENOEXEC), ERROR(EBADF), ERROR(ECHILD), ERROR(EAGAIN), ERROR(ENOMEM), ERROR(EACCES), ERROR(EFAULT),
    ERROR(EBUSY), ERROR(EEXIST), ERROR(EXDEV), ERROR(ENODEV), ERROR(ENOTDIR), ERROR(EISDIR), ERROR(EINVAL),
    ERROR(ENFILE), ERROR(EMFILE), ERROR(ETXTBSY), ERROR(EFBIG), ERROR(ENOSPC), ERROR(EROFS), ERROR(EPIPE),
    ERROR(ERANGE), ERROR(ENAMETOOLONG), ERROR(ENOSYS), ERROR(ELOOP), ERROR(EOVERFLOW), ERROR(ELIBBAD),
    ERROR(EUSERS), ERROR(EOPNOTSUPP), ERROR(ETIMEDOUT), ERROR(ESTALE), ERROR(EDQUOT), ERROR(ECANCELED),
    ERROR(EAFNOSUPPORT), ERROR(EADDRINUSE), ERROR(EADDRNOTAVAIL), ERROR(ECONNRESET), ERROR(ENOBUFS), ERROR(ENOTCONN),
    ERROR(ETOOMANYREFS),
};

static const char *name_of_error(int number)
{
    for (size_t i = 0; i < COUNT(ERRORS); i++)
        if (ERRORS[i].number == number) return ERRORS[i].name;
    return "OTHER";
}

/* ---- Saying: lines on the status descriptor, and why nothing was started on standard error. ---- */

/* Gives up quietly where nobody reads: that is no reason to leave a command running. */
static void write_all(int descriptor, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(descriptor, bytes, length);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd wait = {descriptor, POLLOUT, 0};
            if (poll(&wait, 1, DRAIN_PATIENCE_MS) <= 0) return;
        } else if (errno != EINTR) {
            return;
        }
    }
}

static void tell(struct text *line, int descriptor)
{
    line->bytes[line->length] = '\n';
    write_all(descriptor, line->bytes, line->length + 1);
    line->length = 0;
}

/* One line in one write: the command's process and the supervisor have the descriptor both. */
static void tell_status(struct text *line)
{
    if (plan.status != 0) tell(line, (int)plan.status);
    line->length = 0;
}

static bool end_tree(void);
/* Set in the command's process: where it says that it came to no exec, and in the supervisor once there is a tree. */
static int exec_report = -1;
static bool has_tree = false;
/* Set in what the starter forked: its pid. */
static pid_t starter = 0;

_Noreturn static void refuse(const char *word, const char *is, const char *expected)
{
    TEXT(line, 1024);
    add(&line, "Cannot start the command: \"");
    add_escaped(&line, word, '"');
    if (line.length > 400) line.length = 400;
    add(&line, "\" ");
    add(&line, is);
    add(&line, ", expected ");
    add(&line, expected);
    tell(&line, STDERR_FILENO);
    _exit(EXIT_SETUP);
}

/* Ends a start that failed at `step`. Nothing of the command has run, or all of it is ended first. */
_Noreturn static void fail(const char *step, int error)
{
    if (has_tree) {
        has_tree = false;
        (void)end_tree();
    }
    TEXT(line, 256);
    add(&line, "failed=");
    add(&line, step);
    add(&line, " errno=");
    add_number(&line, (uint64_t)error);
    add_byte(&line, ' ');
    add(&line, name_of_error(error));
    tell_status(&line);
    add(&line, "Cannot start the command: ");
    add(&line, step);
    add(&line, " ended with ");
    add(&line, name_of_error(error));
    tell(&line, STDERR_FILENO);
    if (exec_report >= 0) write_all(exec_report, "F", 1);
    _exit(EXIT_SETUP);
}

static void must(bool done, const char *step)
{
    if (!done) fail(step, errno);
}

/* ---- Reading the words. ---- */

/* Whether the words are those of the command line, which others can read. */
static bool is_seen = false;
static int word_count;
static char **all_words;

/* Boundary: the supervisor's command line, which all can read, does not tell the command where it is on the host. */
static void wipe_words(void)
{
    for (int i = 1; is_seen && i < word_count; i++) memset(all_words[i], 0, strlen(all_words[i]));
}

static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;
    /* Boundary: digits alone; no sign, no space, no second spelling of a number. */
    if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0')) return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (digit > most || value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *number = value;
    return value >= least;
}

static void take_number(const char *word, const char *value, uint64_t *slot, const uint64_t range[2])
{
    if (*slot != 0) refuse(word, "is given twice", "it once");
    if (read_number(value, range[0], range[1], slot)) return;
    TEXT(expected, 64);
    add(&expected, "a whole number from ");
    add_number(&expected, range[0]);
    add(&expected, " to ");
    add_number(&expected, range[1]);
    refuse(word, "has another value", string_of(&expected));
}

static void take_one_more(const char *word, const char *value, uint64_t *list, size_t *count)
{
    if (*count == MAX_DESCRIPTORS) refuse(word, "is one too many", "64 descriptors at most");
    take_number(word, value, &list[*count], (const uint64_t[]){3, MAX_DESCRIPTOR});
    *count += 1;
}

static void take_owner(const char *word, const char *value)
{
    char user[16];
    const char *colon = strchr(value, ':');
    if (plan.has_owner) refuse(word, "is given twice", "it once");
    plan.has_owner = true;
    size_t length = colon == NULL ? 0 : (size_t)(colon - value);
    if (length > 0 && length < sizeof user) {
        memcpy(user, value, length);
        user[length] = '\0';
        if (read_number(user, 0, UINT32_MAX - 1, &plan.owner_uid) &&
            read_number(colon + 1, 0, UINT32_MAX - 1, &plan.owner_gid))
            return;
    }
    refuse(word, "has another value", "a uid and a gid with a colon between them");
}

static void take_variable(char *word)
{
    char *variable = word + strlen("set=");
    size_t length = strcspn(variable, "=");
    if (length == 0 || variable[length] == '\0') refuse(word, "is no variable", "set=NAME=VALUE");
    if (plan.variable_count == MAX_VARIABLES) refuse(word, "is one variable too many", "4096 at most");
    for (size_t i = 0; i < plan.variable_count; i++)
        if (strncmp(plan.variables[i], variable, length + 1) == 0) refuse(word, "has a name given twice", "it once");
    plan.variables[plan.variable_count++] = variable;
    plan.has_own_variables = true;
}

static bool read_address(char *text, struct listener *listener)
{
    listener->is_six = strcmp(text, "[::1]") == 0;
    for (int i = 0; i < 4 && !listener->is_six; i++) {
        char *dot = strchr(text, '.');
        uint64_t part;
        if ((dot == NULL) != (i == 3)) return false;
        if (dot != NULL) *dot = '\0';
        /* Boundary: loopback alone; the namespace has no other addresses, and a word that asks for one is a mistake. */
        if (!read_number(text, i == 0 ? 127 : 0, i == 0 ? 127 : 255, &part)) return false;
        listener->address = listener->address << 8 | (uint32_t)part;
        if (dot != NULL) text = dot + 1;
    }
    return true;
}

static void take_listener(const char *word, const char *value)
{
    char address[sizeof "127.255.255.255"];
    uint64_t port;
    const char *colon = strrchr(value, ':');
    if (plan.listener_count == MAX_LISTENERS) refuse(word, "is one too many", "64 listeners at most");
    struct listener *listener = &plan.listeners[plan.listener_count++];
    size_t length = colon == NULL ? 0 : (size_t)(colon - value);
    if (length > 0 && length < sizeof address) {
        memcpy(address, value, length);
        address[length] = '\0';
        if (read_address(address, listener) && read_number(colon + 1, 1, UINT16_MAX, &port)) {
            listener->port = (uint16_t)port;
            return;
        }
    }
    refuse(word, "is no place to listen at", "127.B.C.D:PORT or [::1]:PORT");
}

static void take_text(char *word, const char *key, const char *value)
{
    if (strcmp(key, "mode") == 0) {
        if (plan.has_mode) refuse(word, "is given twice", "it once");
        plan.has_mode = true;
        plan.exec_in_place = strcmp(value, "exec") == 0;
        if (!plan.exec_in_place && strcmp(value, "run") != 0) refuse(word, "is no mode", "run or exec");
    } else if (strcmp(key, "cwd") == 0) {
        if (plan.cwd != NULL || value[0] == '\0') refuse(word, "is empty or given twice", "one path");
        plan.cwd = value;
    } else if (strcmp(key, "owner") == 0) {
        take_owner(word, value);
    } else if (strcmp(key, "set") == 0) {
        take_variable(word);
    } else if (strcmp(key, "listen") == 0) {
        take_listener(word, value);
    } else if (strcmp(key, "cgroup") == 0) {
        take_one_more(word, value, plan.cgroups, &plan.cgroup_count);
    } else if (strcmp(key, "keep") == 0) {
        take_one_more(word, value, plan.kept, &plan.kept_count);
    } else if (strcmp(key, "ro") == 0 || strcmp(key, "rw") == 0) {
        if (value[0] != '/') refuse(word, "is no absolute path", "one that begins with /");
        if (plan.rule_count == MAX_RULES) refuse(word, "is one rule too many", "1024 at most");
        plan.rules[plan.rule_count++] = (struct rule){value, key[1] == 'w'};
    } else {
        refuse(word, "is no key", "one of those that the launcher knows");
    }
}

static void take_word(char *word)
{
    char key[16];
    const char *equals = strchr(word, '=');
    size_t length = equals == NULL ? 0 : (size_t)(equals - word);
    if (length == 0 || length >= sizeof key) refuse(word, "is no word of the form KEY=VALUE", "one, or -- before FILE");
    memcpy(key, word, length);
    key[length] = '\0';
    for (size_t i = 0; i < COUNT(NUMBERS); i++) {
        if (strcmp(key, NUMBERS[i].name) != 0) continue;
        take_number(word, equals + 1, NUMBERS[i].value, (const uint64_t[]){NUMBERS[i].least, NUMBERS[i].most});
        return;
    }
    for (size_t i = 0; i < COUNT(rlimits); i++) {
        if (strcmp(key, rlimits[i].name) != 0) continue;
        take_number(word, equals + 1, &rlimits[i].value, (const uint64_t[]){1, MOST_NUMBER});
        struct rlimit now;
        must(getrlimit((__rlimit_resource_t)rlimits[i].resource, &now) == 0, "rlimit");
        if (rlimits[i].value <= now.rlim_max) return;
        if (rlimits[i].resource != RLIMIT_NOFILE) refuse(word, "is above the hard limit", "at most that");
        rlimits[i].value = now.rlim_max;
        return;
    }
    take_text(word, key, equals + 1);
}

static void require_descriptor(uint64_t number, const uint64_t *others, size_t count)
{
    TEXT(name, 24);
    add_number(&name, number);
    if (fcntl((int)number, F_GETFD) < 0) refuse(string_of(&name), "is not open", "a descriptor that is");
    for (size_t i = 0; i < count; i++)
        if (others[i] == number) refuse(string_of(&name), "has two uses", "a descriptor of its own for each");
}

enum { MAX_LISTED = 7 + 2 * MAX_DESCRIPTORS };

/* All that has a use here; the workspace and the status may be kept as well, for a stage that follows. */
static size_t list_descriptors(uint64_t *list)
{
    const uint64_t single[] = {plan.status, plan.control, plan.words, plan.seccomp, plan.workspace, plan.map,
                               plan.handles};
    size_t count = 0;
    for (size_t i = 0; i < COUNT(single); i++)
        if (single[i] != 0) list[count++] = single[i];
    for (size_t i = 0; i < plan.cgroup_count; i++) list[count++] = plan.cgroups[i];
    for (size_t i = 0; i < plan.kept_count; i++)
        if (plan.kept[i] != plan.workspace && !(plan.exec_in_place && plan.kept[i] == plan.status))
            list[count++] = plan.kept[i];
    return count;
}

/* A stage that follows says how it went; until then there is nothing to say but a failure. */
static bool is_status_left(void)
{
    for (size_t i = 0; i < plan.kept_count; i++)
        if (plan.kept[i] == plan.status) return true;
    return false;
}

static bool is_unix_stream(int descriptor)
{
    int domain = 0, type = 0;
    socklen_t size = sizeof domain;
    return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
           getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

static void require_sense_of_network(void)
{
    if (plan.listener_count > 0 && plan.net == 0)
        refuse("listen", "is given without net=1", "a network of its own with it");
    if ((plan.listener_count > 0) != (plan.handles != 0))
        refuse("listen", "is given without handles or handles without it", "both or none");
    /* Any other socket would take the number of a listener and drop the listener. */
    if (plan.handles != 0 && !is_unix_stream((int)plan.handles))
        refuse("handles", "is no unix stream socket", "one that passes descriptors on");
}

static void require_sense(void)
{
    uint64_t list[MAX_LISTED];
    size_t count = list_descriptors(list);
    for (size_t i = 0; i < count; i++) require_descriptor(list[i], list, i);
    if (plan.exec_in_place && (plan.cpu_ms | plan.wall_ms | plan.output | plan.control | plan.words | plan.ns) != 0)
        refuse("mode=exec", "supervises nothing", "no cpums, wallms, output, control, words or ns");
    if ((plan.uid == 0) != (plan.gid == 0)) refuse("uid", "is given without gid or gid without it", "both or none");
    if ((plan.workspace == 0) != !(plan.has_owner || plan.map != 0))
        refuse("workspace", "is given without owner or owner without it", "both or none");
    if (plan.workspace != 0 && plan.uid == 0) refuse("workspace", "is given without uid", "uid and gid with it");
    if (plan.chdir != 0 && plan.workspace == 0) refuse("chdir=1", "has no directory", "workspace with it");
    if (plan.uid != 0 && geteuid() != 0) refuse("uid", "can be changed by root alone", "no uid and no gid");
    require_sense_of_network();
}

static void take_command(int count, char **words, int at)
{
    if (at + 2 >= count) refuse("--", "is missing or has too little after it", "-- FILE ARGV0 [ARG...] at the end");
    plan.file = words[at + 1];
    plan.argv = &words[at + 2];
    if (plan.file[0] != '/') refuse(plan.file, "is no absolute path", "one that begins with /");
}

static void read_words(int count, char **words)
{
    int at = 1;
    word_count = count;
    all_words = words;
    for (; at < count && strcmp(words[at], "--") != 0; at++) take_word(words[at]);
    if (plan.words == 0) take_command(count, words, at);
    else if (at != count) refuse("--", "is given although more words are to come", "the command among those");
    require_sense();
}

/* What is said of a command once its sandbox stands; all else was for the sandbox, and would come too late. */
static void read_told(int count, char **words)
{
    static const char *const OF_COMMAND[] = {"cpu=",    "data=",   "fsize=", "nofile=", "nproc=", "stack=", "cpums=",
                                             "wallms=", "output=", "cwd=",   "set=",    "facts=", "ro=",    "rw="};
    int at = 1;
    for (; at < count && strcmp(words[at], "--") != 0; at++) {
        size_t i = 0;
        while (i < COUNT(OF_COMMAND) && strncmp(words[at], OF_COMMAND[i], strlen(OF_COMMAND[i])) != 0) i++;
        if (i == COUNT(OF_COMMAND)) refuse(words[at], "comes after the sandbox was made", "a word of the command alone");
        take_word(words[at]);
    }
    take_command(count, words, at);
}

/* ---- Descriptors. ---- */

/* What is opened later must not become a standard stream. */
static void hold_standard_streams(void)
{
    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) >= 0) continue;
        must(open("/dev/null", O_RDWR | O_NOCTTY) == i, "stdio");
    }
}

static void close_range_of(uint64_t from, uint64_t to)
{
    if (from > to) return;
    if (syscall(NR_close_range, (unsigned)from, (unsigned)to, 0) == 0) return;
    if (errno != ENOSYS) fail("descriptors", errno);
    /* Before Linux 5.9: one by one. */
    uint64_t last = to > MAX_DESCRIPTOR ? MAX_DESCRIPTOR : to;
    for (uint64_t i = from; i <= last; i++) (void)close((int)i);
}

/* Boundary: whatever the gateway inherited or left open is gone before anything else happens. */
static void close_others(void)
{
    uint64_t list[MAX_LISTED], next = 3;
    size_t count = list_descriptors(list);
    for (size_t done = 0; done < count; done++) {
        uint64_t least = UINT32_MAX;
        for (size_t i = 0; i < count; i++)
            if (list[i] >= next && list[i] < least) least = list[i];
        close_range_of(next, least - 1);
        must(fcntl((int)least, F_SETFD, FD_CLOEXEC) == 0, "descriptors");
        next = least + 1;
    }
    close_range_of(next, UINT32_MAX);
}

static void close_one(int *descriptor)
{
    if (*descriptor >= 0) (void)close(*descriptor);
    *descriptor = -1;
}

static bool write_file(const char *path, const char *words)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t length = strlen(words);
    bool done = write(file, words, length) == (ssize_t)length;
    int error = errno;
    (void)close(file);
    errno = error;
    return done;
}

static const char *path_of(struct text *path, pid_t process, const char *name)
{
    path->length = 0;
    add(path, "/proc/");
    add_number(path, (uint64_t)process);
    add_byte(path, '/');
    add(path, name);
    return string_of(path);
}

/* ---- Reading files of /proc line by line. ---- */

struct reader {
    int file;
    size_t start, end;
    bool cut;
    char bytes[16384];
};
static struct reader reader;

static void read_from(int file)
{
    reader.file = file;
    reader.start = reader.end = 0;
    reader.cut = false;
}

/* The next line without its end, or NULL. A line that is longer than the buffer is given once, without the rest. */
static char *next_line(void)
{
    for (;;) {
        char *from = reader.bytes + reader.start;
        char *end = memchr(from, '\n', reader.end - reader.start);
        if (end != NULL) {
            bool is_rest = reader.cut;
            *end = '\0';
            reader.start = (size_t)(end - reader.bytes) + 1;
            reader.cut = false;
            if (is_rest) continue;
            return from;
        }
        memmove(reader.bytes, from, reader.end - reader.start);
        reader.end -= reader.start;
        reader.start = 0;
        if (reader.end == sizeof reader.bytes - 1) {
            bool is_rest = reader.cut;
            reader.bytes[reader.end] = '\0';
            reader.end = 0;
            reader.cut = true;
            if (is_rest) continue;
            return reader.bytes;
        }
        ssize_t count = read(reader.file, reader.bytes + reader.end, sizeof reader.bytes - 1 - reader.end);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return NULL;
        reader.end += (size_t)count;
    }
}

/* The next word of a line, cut out of it; an empty one at the end. */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, " \t");
    char *end = word + strcspn(word, " \t");
    *line = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

/* ---- Who the command is. ---- */

/*
 * Boundary: never host uid 0. To its sysctls the kernel grants access by global uid and not by capability, so a command
 * that is root outside of its user namespace can take over the host without any.
 */
static bool is_host_root(void)
{
    uint64_t self = geteuid();
    int file = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    if (file < 0) return self == 0;
    bool found = false, is_root = false;
    read_from(file);
    for (char *line; (line = next_line()) != NULL;) {
        uint64_t inside, outside, count;
        if (!read_number(next_word(&line), 0, UINT32_MAX, &inside)) continue;
        if (!read_number(next_word(&line), 0, UINT32_MAX, &outside)) continue;
        if (!read_number(next_word(&line), 0, UINT32_MAX, &count)) continue;
        if (self < inside || self - inside >= count) continue;
        found = true;
        is_root = outside + (self - inside) == 0;
    }
    (void)close(file);
    struct stat proc;
    /* In a namespace below another the map shows only the next one outward. /proc itself belongs to the host's root. */
    if (found && is_root && stat("/proc", &proc) == 0) return proc.st_uid == geteuid();
    return found ? is_root : self == 0;
}

/* What cannot be dropped for want of a capability is not held either. */
static void drop_bounding_set(void)
{
    for (unsigned long capability = 0; capability < 64; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) break;
}

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    drop_bounding_set();
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    must(syscall(SYS_capset, &header, none) == 0, "capabilities");
}

static void take_identity(void)
{
    if (plan.uid == 0) return;
    uid_t uid = (uid_t)plan.uid, ids[3];
    gid_t gid = (gid_t)plan.gid, groups[3];
    drop_bounding_set();
    must(setgroups(0, NULL) == 0, "groups");
    must(setresgid(gid, gid, gid) == 0, "gid");
    must(setresuid(uid, uid, uid) == 0, "uid");
    /* Boundary: looked at and tried rather than trusted, because all that follows rests on it. */
    must(getresuid(&ids[0], &ids[1], &ids[2]) == 0 && getresgid(&groups[0], &groups[1], &groups[2]) == 0, "uid");
    for (size_t i = 0; i < 3; i++)
        if (ids[i] != uid || groups[i] != gid) fail("uid", EPERM);
    if (getgroups(0, NULL) != 0 || setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0) fail("uid", EPERM);
}

static void require_no_host_root(void)
{
    if (!is_host_root()) return;
    refuse("uid", "is that of the host's root, and a command is never host uid 0", "uid and gid of another user");
}

/* ---- The network: nothing but lo, and on it the listeners that the gateway accepts on. ---- */

/* Sends bytes, and with them a descriptor where there is one. */
static ssize_t send_with(int socket, const char *bytes, size_t length, int descriptor)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof descriptor)] = {0};
    /* sendmsg only reads them. */
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = room;
        message.msg_controllen = sizeof room;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptor);
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void raise_loopback(void)
{
    struct ifreq lo = {.ifr_name = "lo"};
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(control >= 0 && ioctl(control, SIOCGIFFLAGS, &lo) == 0, "lo");
    lo.ifr_flags = (short)(lo.ifr_flags | IFF_UP);
    must(ioctl(control, SIOCSIFFLAGS, &lo) == 0, "lo");
    (void)close(control);
}

static int listen_at(const struct listener *place)
{
    const int on = 1;
    const struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(place->port), .sin_addr.s_addr = htonl(place->address)};
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(place->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int server = socket(place->is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(server >= 0 && setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "listen");
    must(bind(server, place->is_six ? (const struct sockaddr *)&six : (const struct sockaddr *)&four,
              place->is_six ? sizeof six : sizeof four) == 0 && listen(server, LISTEN_BACKLOG) == 0, "listen");
    return server;
}

/*
 * In the new network namespace, while this process still has the capabilities of its owner, which a low port takes. The
 * listeners go to the gateway: what connects to them is in this namespace, and nobody in it holds one of them.
 */
static void open_network(void)
{
    raise_loopback();
    for (size_t i = 0; i < plan.listener_count; i++) {
        TEXT(line, 24);
        add_number(&line, i);
        add_byte(&line, '\n');
        int server = listen_at(&plan.listeners[i]);
        /* All of them fit into the socket: nobody who does not read can make this wait. */
        must(send_with((int)plan.handles, line.bytes, line.length, server) == (ssize_t)line.length, "handles");
        (void)close(server);
    }
    /* Boundary: what is run next has no way to the gateway but to connect. */
    if (plan.handles != 0) (void)close((int)plan.handles);
    plan.handles = 0;
}

/* ---- Namespaces. ---- */

static bool put_map(const char *file, uint64_t inside, uint64_t outside)
{
    TEXT(path, 64);
    TEXT(line, 64);
    add(&path, "/proc/");
    add(&path, file);
    add_number(&line, inside);
    add_byte(&line, ' ');
    add_number(&line, outside);
    add(&line, " 1");
    return write_file(string_of(&path), string_of(&line));
}

static void write_map(const char *file, uint64_t inside, uint64_t outside)
{
    must(put_map(file, inside, outside), "user-map");
}

/* Maps one id to itself in the user namespace that this process has just entered. */
static void map_identity(uint64_t uid, uint64_t gid)
{
    /* The files of a process that is not dumpable are root's; nothing of the command is here yet. */
    must(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, "dumpable");
    must(write_file("/proc/self/setgroups", "deny"), "user-map");
    write_map("self/uid_map", uid, uid);
    write_map("self/gid_map", gid, gid);
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
}

/*
 * Makes this process the first one of new namespaces. Root makes those of pids, mounts and IPC as root, so that whatever
 * the command becomes in its user namespace, it owns none of them; others need the user namespace to make them.
 */
static void enter_namespaces(uid_t uid, gid_t gid)
{
    if (plan.uid == 0) map_identity(uid, gid);
    if (plan.uid == 0 && plan.net != 0) open_network();
    if (plan.workspace == 0) must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private-mounts");
    must(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0, "proc");
    if (plan.uid != 0) {
        take_identity();
        must(unshare(CLONE_NEWUSER) == 0, "user-namespace");
        map_identity(plan.uid, plan.gid);
    }
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no-new-privs");
    drop_capabilities();
}

/*
 * Leaves the network of the host. Root does so as root, so that the command owns nothing of the new one; others need a
 * user namespace for it, which is the one that ns=1 makes, or one for this alone.
 */
static void leave_network(void)
{
    if (plan.net == 0 || (plan.uid == 0 && plan.ns != 0)) return;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    must(unshare(CLONE_NEWNET | (plan.uid == 0 ? CLONE_NEWUSER : 0)) == 0, "net");
    if (plan.uid == 0) map_identity(uid, gid);
    open_network();
    /* Boundary: those that came with the user namespace, before anything else is done with them. */
    if (plan.uid == 0) drop_capabilities();
}

static pid_t fork_into_namespaces(void)
{
    /* With a workspace there is a mount namespace already, which the process outside has no more use for. */
    unsigned long flags = CLONE_NEWPID | CLONE_NEWIPC | (plan.workspace == 0 ? CLONE_NEWNS : 0) |
                          (plan.uid == 0 ? CLONE_NEWUSER : 0) |
                          (plan.uid == 0 && plan.net != 0 ? CLONE_NEWNET : 0);
    pid_t child = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
    must(child >= 0, "namespaces");
    return child;
}

struct map_ids {
    uint64_t owner_uid, owner_gid, uid, gid;
};

static void close_both(int ends[2])
{
    close_one(&ends[0]);
    close_one(&ends[1]);
}

/* Forks a process that only holds a new user namespace until `hold` is closed, or gives -1. */
static pid_t hold_user_namespace(int hold[2])
{
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) != 0) return -1;
    pid_t child = fork();
    if (child == 0) {
        (void)close(hold[1]);
        if (unshare(CLONE_NEWUSER) == 0) write_all(ready[1], "1", 1);
        (void)close(ready[1]);
        (void)read(hold[0], &byte, 1);
        _exit(0);
    }
    int error = errno;
    close_one(&ready[1]);
    /* Where it could not, the maps that follow are refused. */
    if (child > 0) (void)read(ready[0], &byte, 1);
    close_one(&ready[0]);
    errno = error;
    return child;
}

/* A user namespace that only maps: on disk the owner, to the run its own uid and gid, and nobody else at all; or -1. */
static int make_map(const struct map_ids *ids)
{
    int hold[2], map = -1;
    TEXT(path, 64);
    if (pipe2(hold, O_CLOEXEC) != 0) return -1;
    pid_t child = hold_user_namespace(hold);
    if (child > 0 && put_map(path_of(&path, child, "uid_map") + strlen("/proc/"), ids->owner_uid, ids->uid) &&
        put_map(path_of(&path, child, "gid_map") + strlen("/proc/"), ids->owner_gid, ids->gid))
        map = open(path_of(&path, child, "ns/user"), O_RDONLY | O_CLOEXEC);
    int error = errno;
    close_both(hold);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    errno = error;
    return map;
}

static int open_map(void)
{
    const struct map_ids ids = {plan.owner_uid, plan.owner_gid, plan.uid, plan.gid};
    int map = plan.map != 0 ? (int)plan.map : make_map(&ids);
    must(map >= 0, "workspace-map");
    return map;
}

static char workspace_path[PATH_MAX];

static void find_workspace(int directory)
{
    TEXT(link, 64);
    add(&link, "/proc/self/fd/");
    add_number(&link, (uint64_t)directory);
    ssize_t length = readlink(string_of(&link), workspace_path, sizeof workspace_path - 1);
    must(length >= 0, "workspace-path");
    workspace_path[length] = '\0';
}

/* Opens in the new mount namespace the directory that the old descriptor has, and no other that took its place. */
static int open_again(int directory)
{
    struct stat here, there;
    int again = open(workspace_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    must(again >= 0 && fstat(again, &here) == 0 && fstat(directory, &there) == 0, "workspace-path");
    /* Boundary: a directory that was swapped under its name since the gateway opened it is not mounted over. */
    if (here.st_dev != there.st_dev || here.st_ino != there.st_ino) fail("workspace-path", ESTALE);
    return again;
}

/*
 * Where the next stage, an ordinary user by then, can walk to: the workspace may be below a directory that it cannot
 * enter, and bubblewrap takes a descriptor for its path. What this place held is not seen in the namespace any more.
 */
static int open_reachable(void)
{
    int place = open("/dev/shm", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    must(place >= 0, "workspace-place");
    return place;
}

static void mount_workspace(void)
{
    if (plan.workspace == 0) return;
    int directory = (int)plan.workspace, map = open_map();
    /* Cloned first: what belongs to another mount namespace, as it does after the next step, cannot be. */
    int tree = (int)syscall(NR_open_tree, directory, "", AT_EMPTY_PATH | OPEN_TREE_CLONE_FLAG | O_CLOEXEC);
    must(tree >= 0, "workspace-clone");
    struct kernel_mount_attr attributes = {ATTR_IDMAP | ATTR_NOSUID | ATTR_NODEV, 0, 0, (uint64_t)map};
    must(syscall(NR_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0, "workspace-idmap");
    find_workspace(directory);
    must(unshare(CLONE_NEWNS) == 0, "mount-namespace");
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private-mounts");
    int target = plan.exec_in_place ? open_reachable() : open_again(directory);
    must(syscall(NR_move_mount, tree, "", target, "", MOVE_MOUNT_FROM_FD | MOVE_MOUNT_TO_FD) == 0, "workspace-mount");
    must(dup3(tree, directory, O_CLOEXEC) == directory, "workspace-mount");
    if (plan.chdir != 0) must(fchdir(directory) == 0, "chdir");
    (void)close(target);
    (void)close(tree);
    (void)close(map);
}

/* ---- What the command's process sets for itself. ---- */

static struct sock_filter filter[MAX_FILTER + 1];
static struct sock_fprog filter_program = {0, filter};

static void read_filter(void)
{
    size_t length = 0;
    if (plan.seccomp == 0) return;
    for (;;) {
        ssize_t count = read((int)plan.seccomp, (char *)filter + length, sizeof filter - length);
        if (count < 0 && errno == EINTR) continue;
        must(count >= 0, "seccomp-read");
        if (count == 0) break;
        length += (size_t)count;
        if (length == sizeof filter) fail("seccomp-read", E2BIG);
    }
    if (length == 0 || length % sizeof filter[0] != 0) fail("seccomp-read", EINVAL);
    filter_program.len = (unsigned short)(length / sizeof filter[0]);
    (void)close((int)plan.seccomp);
}

static int landlock_abi(void)
{
    long abi = syscall(NR_landlock_create_ruleset, NULL, 0, 1);
    return abi < 0 ? 0 : (int)abi;
}

static int landlock_applied = 0;

static void restrict_files(void)
{
    if (plan.rule_count == 0) return;
    int abi = landlock_abi();
    if (abi < 1) fail("landlock", ENOSYS);
    struct kernel_landlock_ruleset handled = {LL_FIRST_ABI, abi >= 4 ? LL_TCP : 0, abi >= 6 ? LL_SCOPES : 0};
    if (abi >= 2) handled.files |= LL_REFER;
    if (abi >= 3) handled.files |= LL_TRUNCATE;
    if (abi >= 5) handled.files |= LL_IOCTL_DEV;
    int ruleset = (int)syscall(NR_landlock_create_ruleset, &handled, sizeof handled, 0);
    must(ruleset >= 0, "landlock");
    for (size_t i = 0; i < plan.rule_count; i++) {
        struct stat status;
        int path = open(plan.rules[i].path, O_PATH | O_CLOEXEC);
        must(path >= 0 && fstat(path, &status) == 0, "landlock-path");
        uint64_t allowed = plan.rules[i].writable ? handled.files : LL_READ;
        /* The kernel refuses rights of a directory on anything else. */
        if (!S_ISDIR(status.st_mode)) allowed &= LL_OF_FILES;
        struct kernel_landlock_beneath beneath = {allowed, path};
        must(syscall(NR_landlock_add_rule, ruleset, LL_RULE_BENEATH, &beneath, 0) == 0, "landlock-rule");
        (void)close(path);
    }
    /* Of the network, only what the gateway accepts on. */
    for (size_t i = 0; handled.network != 0 && i < plan.listener_count; i++) {
        struct kernel_landlock_port port = {LL_CONNECT_TCP, plan.listeners[i].port};
        must(syscall(NR_landlock_add_rule, ruleset, LL_RULE_PORT, &port, 0) == 0, "landlock-rule");
    }
    must(syscall(NR_landlock_restrict_self, ruleset, 0) == 0, "landlock");
    (void)close(ruleset);
    landlock_applied = abi;
}

static void limit_resources(void)
{
    const struct rlimit no_core = {0, 0};
    must(setrlimit(RLIMIT_CORE, &no_core) == 0, "rlimit-core");
    for (size_t i = 0; i < COUNT(rlimits); i++) {
        if (rlimits[i].value == 0) continue;
        const struct rlimit both = {rlimits[i].value, rlimits[i].value};
        must(setrlimit((__rlimit_resource_t)rlimits[i].resource, &both) == 0, "rlimit");
    }
}

/* Signals that are ignored or blocked stay so through exec, and Node ignores SIGPIPE. */
static void reset_signals(void)
{
    sigset_t none;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        if (number == SIGKILL || number == SIGSTOP) continue;
        /* Those that libc keeps for its threads are refused, and are never changed by it either. */
        if (sigaction(number, &plain, NULL) != 0 && errno != EINVAL) fail("signals", errno);
    }
    must(sigemptyset(&none) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0, "signals");
}

/* ---- Facts: what is true of the command's process, read from the kernel after all is set. ---- */

/* The files are opened before Landlock may hide them, and read after: the kernel makes their text when it is read. */
enum { FACT_STATUS, FACT_UID_MAP, FACT_NET, FACT_MOUNTS, FACT_CGROUP, FACT_FILES };
static int fact_files[FACT_FILES];
/* All of them go out together: whoever listens is woken for each write. */
enum { FACT_BYTES = 65536 };
static char fact_bytes[2 * FACT_BYTES];
static struct text fact = {fact_bytes, sizeof fact_bytes, 0};

static void open_facts(void)
{
    static const char *const PATHS[FACT_FILES] = {
        "/proc/self/status", "/proc/self/uid_map", "/proc/self/net/dev", "/proc/self/mountinfo", "/proc/self/cgroup"};
    if (plan.facts == 0) return;
    for (size_t i = 0; i < FACT_FILES; i++) {
        fact_files[i] = open(PATHS[i], O_RDONLY | O_CLOEXEC);
        /* A kernel without cgroups has no such file, and nothing to say. */
        if (fact_files[i] < 0 && errno != ENOENT) fail("facts", errno);
    }
}

static void tell_all_facts(void)
{
    if (plan.status != 0) write_all((int)plan.status, fact.bytes, fact.length);
    fact.length = 0;
}

static void begin_fact(const char *name, const char *part)
{
    if (fact.length > FACT_BYTES) tell_all_facts();
    add(&fact, "fact.");
    add(&fact, name);
    add(&fact, part);
    add_byte(&fact, '=');
}

static void tell_fact_number(const char *name, uint64_t number)
{
    begin_fact(name, "");
    add_number(&fact, number);
    add_byte(&fact, '\n');
}

/* The words of a line with one space between them; one word where all are the same, as the four uids are. */
static void add_words(char *line, bool is_same)
{
    const char *first = next_word(&line);
    bool differs = false;
    add_escaped(&fact, first, '\0');
    size_t length = fact.length;
    for (const char *word; *(word = next_word(&line)) != '\0';) {
        differs = differs || strcmp(word, first) != 0;
        add_byte(&fact, ' ');
        add_escaped(&fact, word, '\0');
    }
    if (is_same && !differs) fact.length = length;
}

static void tell_status_facts(void)
{
    static const struct {
        const char *key, *name;
        bool is_same;
    } KEYS[] = {
        {"Uid:", "uid", true},           {"Gid:", "gid", true},         {"Groups:", "groups", false},
        {"NoNewPrivs:", "nnp", false},   {"Seccomp:", "seccomp", false}, {"Seccomp_filters:", "seccomp_filters", false},
        {"CapInh:", "capinh", false},    {"CapPrm:", "capprm", false},  {"CapEff:", "capeff", false},
        {"CapBnd:", "capbnd", false},    {"CapAmb:", "capamb", false},
    };
    read_from(fact_files[FACT_STATUS]);
    for (char *line; (line = next_line()) != NULL;) {
        const char *key = next_word(&line);
        for (size_t i = 0; i < COUNT(KEYS); i++) {
            if (strcmp(key, KEYS[i].key) != 0) continue;
            begin_fact(KEYS[i].name, "");
            add_words(line, KEYS[i].is_same);
            add_byte(&fact, '\n');
        }
    }
}

static void tell_namespaces(void)
{
    static const char *const NAMES[] = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
    for (size_t i = 0; i < COUNT(NAMES); i++) {
        char target[64];
        TEXT(path, 64);
        add(&path, "/proc/self/ns/");
        add(&path, NAMES[i]);
        ssize_t length = readlink(string_of(&path), target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        const char *inode = strchr(target, '[');
        begin_fact("ns.", NAMES[i]);
        for (inode = inode == NULL ? "" : inode + 1; *inode >= '0' && *inode <= '9'; inode++) add_byte(&fact, *inode);
        add_byte(&fact, '\n');
    }
}

static void tell_lines(const char *name, int file)
{
    begin_fact(name, "");
    read_from(file);
    for (char *line, *between = ""; file >= 0 && (line = next_line()) != NULL; between = ";") {
        add(&fact, between);
        add_words(line, false);
    }
    add_byte(&fact, '\n');
}

static void tell_interfaces(void)
{
    int number = 0;
    const char *between = "";
    begin_fact("interfaces", "");
    read_from(fact_files[FACT_NET]);
    for (char *line; fact_files[FACT_NET] >= 0 && (line = next_line()) != NULL;) {
        char *colon = strchr(line, ':');
        /* The first two lines are a heading. */
        if (++number <= 2 || colon == NULL) continue;
        *colon = '\0';
        add(&fact, between);
        add_escaped(&fact, next_word(&line), ',');
        between = ",";
    }
    add_byte(&fact, '\n');
}

static bool is_read_only(const char *options)
{
    return strncmp(options, "ro", 2) == 0 && (options[2] == ',' || options[2] == '\0');
}

/* mountinfo: id, parent, device, root, mount point, options, optional words, "-", type, source, options of the whole. */
static void tell_mounts(void)
{
    uint64_t count = 0;
    const char *between = "";
    begin_fact("mounts_rw", "");
    read_from(fact_files[FACT_MOUNTS]);
    for (char *line; fact_files[FACT_MOUNTS] >= 0 && (line = next_line()) != NULL; count++) {
        for (int i = 0; i < 4; i++) (void)next_word(&line);
        const char *point = next_word(&line), *options = next_word(&line), *word;
        while (*(word = next_word(&line)) != '\0' && strcmp(word, "-") != 0) continue;
        (void)next_word(&line);
        (void)next_word(&line);
        if (is_read_only(options) || is_read_only(next_word(&line))) continue;
        add(&fact, between);
        add_escaped(&fact, point, ',');
        between = ",";
    }
    add_byte(&fact, '\n');
    tell_fact_number("mounts", count);
}

static void tell_facts(void)
{
    static const struct {
        const char *name;
        int resource;
    } LIMITS[] = {{"cpu", RLIMIT_CPU},     {"data", RLIMIT_DATA}, {"fsize", RLIMIT_FSIZE}, {"nofile", RLIMIT_NOFILE},
                  {"nproc", RLIMIT_NPROC}, {"core", RLIMIT_CORE}, {"as", RLIMIT_AS}};
    if (plan.facts == 0 || plan.status == 0) return;
    tell_status_facts();
    tell_namespaces();
    tell_lines("uid_map", fact_files[FACT_UID_MAP]);
    tell_interfaces();
    tell_mounts();
    tell_lines("cgroup", fact_files[FACT_CGROUP]);
    tell_fact_number("landlock", (uint64_t)landlock_applied);
    for (size_t i = 0; i < COUNT(LIMITS); i++) {
        struct rlimit now;
        must(getrlimit((__rlimit_resource_t)LIMITS[i].resource, &now) == 0, "facts");
        begin_fact("rlimit.", LIMITS[i].name);
        if (now.rlim_cur == RLIM_INFINITY) add(&fact, "unlimited");
        else add_number(&fact, now.rlim_cur);
        add_byte(&fact, '\n');
    }
    tell_fact_number("dumpable", (uint64_t)prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
}

/* ---- The command's process, up to its exec. ---- */

/* The pid in the namespace that the launcher was started in: its /proc says there who "self" is. */
static void tell_pid(int outer_proc)
{
    char name[24];
    ssize_t length = outer_proc < 0 ? -1 : readlinkat(outer_proc, "self", name, sizeof name - 1);
    name[length < 0 ? 0 : length] = '\0';
    add(&fact, "pid=");
    if (length > 0) add(&fact, name);
    else add_number(&fact, (uint64_t)getpid());
    add_byte(&fact, '\n');
    tell_all_facts();
}

/* Never returns: becomes the command, or says why not. The order matters; each step needs what a later one takes away. */
_Noreturn static void become_command(int outer_proc, pid_t parent)
{
    /* Whoever starts us may have made the session already. */
    must(setsid() >= 0 || getsid(0) == getpid(), "session");
    reset_signals();
    (void)umask(022);
    if (plan.ns == 0) take_identity();
    if (is_host_root()) fail("host-root", EPERM);
    /* After the change of identity, which would clear it; and what an already dead parent left behind is no command. */
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "parent-death");
    if (parent != 0 && getppid() != parent) _exit(EXIT_SETUP);
    if (plan.cwd != NULL) must(chdir(plan.cwd) == 0, "cwd");
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no-new-privs");
    drop_capabilities();
    open_facts();
    restrict_files();
    for (size_t i = 0; i < plan.kept_count; i++) must(fcntl((int)plan.kept[i], F_SETFD, 0) == 0, "keep");
    limit_resources();
    if (filter_program.len > 0)
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter_program, 0, 0) == 0, "seccomp");
    if (!is_status_left()) {
        tell_facts();
        tell_pid(outer_proc);
    }
    (void)execve(plan.file, plan.argv, plan.has_own_variables ? plan.variables : environ);
    int error = errno;
    TEXT(line, 256);
    add(&line, "execerror=");
    add_number(&line, (uint64_t)error);
    add_byte(&line, ' ');
    add(&line, name_of_error(error));
    tell_status(&line);
    add(&line, "Cannot run the command: its file gives ");
    add(&line, name_of_error(error));
    tell(&line, STDERR_FILENO);
    if (exec_report >= 0) write_all(exec_report, "E", 1);
    _exit(error == ENOENT ? EXIT_ABSENT : EXIT_EXEC);
}

/* ---- The tree: finding, measuring and ending what the command started. ---- */

static pid_t found[MAX_FOUND];
static bool has_children_files;

/* Opens /proc/PID/NAME, or /proc/PID/task/TID/NAME where there is a thread. */
static int open_of(pid_t process, uint64_t thread, const char *name, int flags)
{
    TEXT(path, 96);
    add(&path, "/proc/");
    add_number(&path, (uint64_t)process);
    if (thread != 0) {
        add(&path, "/task/");
        add_number(&path, thread);
    }
    add_byte(&path, '/');
    add(&path, name);
    return open(string_of(&path), flags | O_RDONLY | O_CLOEXEC);
}

struct standing {
    pid_t parent;
    uint64_t ticks;
};

/* The parent of a process, and the processor time of it and of the children that it has waited for. */
static bool look_at(pid_t process, struct standing *standing)
{
    char bytes[1024];
    int file = open_of(process, 0, "stat", 0);
    if (file < 0) return false;
    ssize_t length = read(file, bytes, sizeof bytes - 1);
    (void)close(file);
    if (length <= 0) return false;
    bytes[length] = '\0';
    /* Boundary: the name is the command's to choose and may hold spaces and brackets; nothing after it does. */
    char *line = strrchr(bytes, ')');
    if (line == NULL) return false;
    line += 1;
    uint64_t number = 0;
    standing->ticks = 0;
    /* Fields 3 to 17; 4 is the parent, 14 to 17 are the times. */
    for (int field = 3; field <= 17; field++) {
        const char *word = next_word(&line);
        if (field != 4 && field < 14) continue;
        if (!read_number(word, 0, INT64_MAX, &number)) return false;
        if (field == 4) standing->parent = (pid_t)number;
        else standing->ticks += number;
    }
    return true;
}

/* Calls for each name in a directory that is a number, without opendir's heap. */
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
    if (search->top < MAX_FOUND) found[search->top++] = (pid_t)process;
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
    struct standing standing;
    if (look_at((pid_t)process, &standing) && standing.parent == search->parent) add_found(search, process);
}

/* Puts the children of a process on `found` from `top` on, and gives the new top. */
static size_t find_children(pid_t parent, size_t top)
{
    struct search search = {parent, top};
    int directory = has_children_files ? open_of(parent, 0, "task", O_DIRECTORY)
                                       : open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return top;
    each_number(directory, has_children_files ? add_children_of_thread : add_if_child, &search);
    (void)close(directory);
    return search.top;
}

/* Not every kernel has them; without them the tree is found by looking at every process. */
static void find_children_files(void)
{
    int children = open_of(getpid(), (uint64_t)getpid(), "children", O_PATH);
    has_children_files = children >= 0;
    close_one(&children);
    must(has_children_files || access("/proc/self/stat", R_OK) == 0, "proc");
}

static uint64_t measure_children(pid_t parent, size_t top, int depth)
{
    uint64_t ticks = 0;
    size_t end = find_children(parent, top);
    for (size_t i = top; i < end; i++) {
        struct standing standing;
        if (look_at(found[i], &standing)) ticks += standing.ticks;
        if (depth < MAX_MEASURE_DEPTH) ticks += measure_children(found[i], end, depth + 1);
    }
    return ticks;
}

static uint64_t microseconds_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

/* Of all that has been waited for, here or by a process that lives, and of all that lives. */
static uint64_t tree_cpu_us(void)
{
    struct rusage reaped;
    must(getrusage(RUSAGE_CHILDREN, &reaped) == 0, "usage");
    uint64_t per_tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    return microseconds_of(reaped.ru_utime) + microseconds_of(reaped.ru_stime) +
           measure_children(getpid(), 0, 0) * per_tick;
}

static int send_signal(int handle, pid_t process, int number)
{
    return handle < 0 ? kill(process, number) : (int)syscall(NR_pidfd_send_signal, handle, number, NULL, 0);
}

struct branch {
    pid_t process;
    int handle, depth;
    size_t top;
};

/*
 * Ends a process and all below it: stopped on the way down, so that none forks while it is looked at, and killed on the
 * way up. A number alone proves nothing, for it may be another's by now. An own child keeps its number until it is
 * waited for here. Any other is held by a pidfd first, and is the right one if the number's parent is the parent's
 * number, and the parent, held too, was still there after that was read.
 */
static void end_branch(pid_t process, const struct branch *parent)
{
    struct branch self = {process, -1, parent->depth + 1, parent->top};
    struct standing standing;
    if (self.depth > 1) {
        self.handle = (int)syscall(NR_pidfd_open, process, 0);
        if (self.handle < 0) return;
        if (!look_at(process, &standing) || standing.parent != parent->process ||
            send_signal(parent->handle, parent->process, 0) != 0) {
            (void)close(self.handle);
            return;
        }
    }
    (void)send_signal(self.handle, process, SIGSTOP);
    if (self.depth < MAX_END_DEPTH) {
        size_t from = self.top;
        self.top = find_children(process, from);
        for (size_t i = from; i < self.top; i++) end_branch(found[i], &self);
    }
    (void)send_signal(self.handle, process, SIGKILL);
    if (self.handle >= 0) (void)close(self.handle);
}

static void end_children(void)
{
    struct branch root = {getpid(), -1, 0, 0};
    if (root.process == 1) {
        /* All that is in this pid namespace, and never this process itself. */
        (void)kill(-1, SIGKILL);
        return;
    }
    root.top = find_children(root.process, 0);
    for (size_t i = 0, end = root.top; i < end; i++) end_branch(found[i], &root);
}

/* ---- The supervisor. ---- */

enum stop { STOP_NONE, STOP_CPU, STOP_WALL, STOP_OUTPUT };
static struct {
    pid_t command;
    bool ended, is_ending, cancelled;
    int status;
    uint64_t command_cpu_us, taken, delivered, left;
    enum stop stop;
    int signals;
} run;

static uint64_t now_us(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock");
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Waits for all that has ended. False when there is nobody left to wait for. */
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

/* Takes the signals that wait; says whether one is an order to end. Who sits in the namespace can send them as well,
 * and has no say. */
static bool take_signals(void)
{
    struct signalfd_siginfo signal;
    bool is_ordered = false;
    while (read(run.signals, &signal, sizeof signal) == (ssize_t)sizeof signal)
        if (signal.ssi_signo != SIGCHLD && (getpid() != 1 || signal.ssi_pid == 0)) is_ordered = true;
    return is_ordered;
}

/* Ends all that is left, however deep and however often it forks. False when something did not end in time. */
static bool end_tree(void)
{
    uint64_t deadline = now_us() + (uint64_t)END_PATIENCE_MS * 1000;
    run.is_ending = true;
    while (reap()) {
        end_children();
        if (!reap()) return true;
        if (now_us() > deadline) return false;
        /* Those that die next wake it; those that were only orphaned do not. */
        struct pollfd wait = {run.signals, POLLIN, 0};
        (void)poll(&wait, 1, 1);
        (void)take_signals();
    }
    return true;
}

/* One of the two outputs: a pipe from the command, and the launcher's own descriptor of that number. */
struct stream {
    int from, to;
    bool is_spliced, is_socket, is_blocked;
    size_t most, held, sent;
    char bytes[COPY_BYTES];
};
static struct stream streams[2];
enum flow { FLOW_MOVED, FLOW_EMPTY, FLOW_BLOCKED, FLOW_ENDED };

static void open_streams(int writers[2])
{
    writers[0] = writers[1] = streams[0].from = streams[1].from = -1;
    for (int i = 0; plan.output != 0 && i < 2; i++) {
        struct stat status;
        int ends[2];
        must(pipe2(ends, O_CLOEXEC) == 0 && fstat(i + 1, &status) == 0, "output");
        must(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0, "output");
        /* The command may open it by name (/dev/stdout), which asks who owns it. */
        if (plan.uid != 0 && plan.ns == 0) must(fchown(ends[1], (uid_t)plan.uid, (gid_t)plan.gid) == 0, "output");
        /* Fewer turns where there is much; where the user has no room for it, the plain size does. */
        (void)fcntl(ends[0], F_SETPIPE_SZ, COPY_BYTES * 4);
        streams[i].from = ends[0];
        streams[i].to = i + 1;
        streams[i].is_socket = S_ISSOCK(status.st_mode);
        streams[i].is_spliced = S_ISFIFO(status.st_mode);
        /* A pipe that can be written to takes this much without making the writer wait. */
        streams[i].most = S_ISFIFO(status.st_mode) ? PIPE_BUF : COPY_BYTES;
        writers[i] = ends[1];
    }
}

/* Sends on what was read. Never waits: a caller that does not read must not stop the clocks. */
static enum flow flush(struct stream *stream)
{
    const char *bytes = stream->bytes + stream->sent;
    size_t length = stream->held - stream->sent;
    ssize_t count = stream->is_socket ? send(stream->to, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL)
                                      : write(stream->to, bytes, length);
    if (count < 0) return errno == EAGAIN ? FLOW_BLOCKED : errno == EINTR ? FLOW_MOVED : FLOW_ENDED;
    stream->sent += (size_t)count;
    run.delivered += (uint64_t)count;
    return FLOW_MOVED;
}

static enum flow flow_of(ssize_t count, const struct stream *stream)
{
    int waiting = 0;
    if (count > 0 || (count < 0 && errno == EINTR)) return FLOW_MOVED;
    if (count == 0 || errno != EAGAIN) return FLOW_ENDED;
    /* Splice says the same of an empty source and of a full target. */
    if (ioctl(stream->from, FIONREAD, &waiting) == 0 && waiting > 0) return FLOW_BLOCKED;
    return FLOW_EMPTY;
}

/* Moves what there is at once, and not one byte more than the quota has room for. */
static enum flow move(struct stream *stream)
{
    if (stream->sent < stream->held) return flush(stream);
    uint64_t room = plan.output - run.taken;
    char byte;
    ssize_t count;
    if (room == 0) {
        /* Boundary: the quota is passed by the first byte after it, and not by its last one. */
        count = read(stream->from, &byte, 1);
        if (count == 1) run.stop = STOP_OUTPUT;
        return count == 1 ? FLOW_ENDED : flow_of(count, stream);
    }
    if (stream->is_spliced) {
        size_t length = room < SPLICE_BYTES ? (size_t)room : SPLICE_BYTES;
        count = splice(stream->from, NULL, stream->to, NULL, length, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (count >= 0 || errno != EINVAL) {
            if (count > 0) {
                run.taken += (uint64_t)count;
                run.delivered += (uint64_t)count;
            }
            return flow_of(count, stream);
        }
        stream->is_spliced = false;
    }
    count = read(stream->from, stream->bytes, room < stream->most ? (size_t)room : stream->most);
    if (count <= 0) return flow_of(count, stream);
    run.taken += (uint64_t)count;
    stream->held = (size_t)count;
    stream->sent = 0;
    return flush(stream);
}

/* Moves once. Where there is no more to come, or nobody to take it, the pipe is closed: the command then notices. */
static enum flow serve(struct stream *stream)
{
    enum flow flow = move(stream);
    stream->is_blocked = flow == FLOW_BLOCKED;
    if (flow == FLOW_ENDED) close_one(&stream->from);
    return flow;
}

static size_t watch_streams(struct pollfd *watched)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT(streams); i++) {
        struct stream *stream = &streams[i];
        if (stream->from < 0) continue;
        bool is_full = stream->is_blocked || stream->sent < stream->held;
        watched[count++] = (struct pollfd){is_full ? stream->to : stream->from, is_full ? POLLOUT : POLLIN, 0};
    }
    return count;
}

/* Everybody who could write is gone: what is in the pipes now is all there will be. */
static void drain(void)
{
    struct pollfd watched[4];
    for (size_t i = 0; i < COUNT(streams); i++) {
        struct stream *stream = &streams[i];
        while (stream->from >= 0) {
            enum flow flow = serve(stream);
            if (flow == FLOW_EMPTY) close_one(&stream->from);
            if (flow != FLOW_BLOCKED) continue;
            watched[0] = (struct pollfd){stream->to, POLLOUT, 0};
            watched[1] = (struct pollfd){run.signals, POLLIN, 0};
            watched[2] = (struct pollfd){plan.control == 0 ? -1 : (int)plan.control, POLLIN, 0};
            if (poll(watched, 3, DRAIN_PATIENCE_MS) <= 0 || watched[2].revents != 0) return;
            /* That children have ended is no order; taken, it does not wake the next look again. */
            if (watched[1].revents != 0 && take_signals()) return;
        }
    }
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * When the tree can have used up its time at the earliest: all processors at once, from now on. A command that sleeps
 * or has much left is hardly ever looked at.
 */
static uint64_t next_look_us(uint64_t now, uint64_t used_us)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t left = plan.cpu_ms * 1000 - used_us;
    uint64_t wait = left / (uint64_t)(processors < 1 ? 1 : processors);
    if (wait < CPU_LOOK_MS * 1000) wait = CPU_LOOK_MS * 1000;
    return now + least_of(wait, CPU_LOOK_MOST_MS * 1000);
}

/* Looks at the clocks; gives how long the next wait may be, in ms, or -1. */
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

/* Waits until the command has ended or must end. */
static void attend(uint64_t start)
{
    uint64_t wall_end = start + plan.wall_ms * 1000;
    uint64_t look = next_look_us(start, 0);
    struct pollfd watched[4];
    watched[0] = (struct pollfd){run.signals, POLLIN, 0};
    watched[1] = (struct pollfd){plan.control == 0 ? -1 : (int)plan.control, POLLIN, 0};
    for (;;) {
        if (!reap() || run.ended) return;
        int timeout = check_clocks(wall_end, &look);
        if (run.stop != STOP_NONE || run.cancelled) return;
        size_t count = watch_streams(watched + 2);
        if (poll(watched, (nfds_t)(2 + count), timeout) < 0) {
            if (errno != EINTR) fail("poll", errno);
            continue;
        }
        /* A byte, the end, or an error on the control: all of them mean that nobody wants this any more. */
        run.cancelled = (watched[0].revents != 0 && take_signals()) || watched[1].revents != 0;
        for (size_t i = 2; i < 2 + count; i++)
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

/* The kernel's own limit of the processor time kills without a word. */
static bool was_ended_by_rlimit(void)
{
    uint64_t limit_s = rlimits[0].value;
    if (limit_s == 0 || !WIFSIGNALED(run.status) || run.is_ending) return false;
    int number = WTERMSIG(run.status);
    /* It counts by ticks, and a loaded machine has been seen to be 6 % off; rusage is exact. */
    return number == SIGXCPU || (number == SIGKILL && run.command_cpu_us >= limit_s * 750000);
}

static void tell_end(uint64_t wall_us)
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
    add_field(&text, "maxrss_kb=", (uint64_t)usage.ru_maxrss);
    add_field(&text, "inblock=", (uint64_t)usage.ru_inblock);
    add_field(&text, "oublock=", (uint64_t)usage.ru_oublock);
    add_field(&text, "wall_us=", wall_us);
    add_field(&text, "output_bytes=", run.delivered);
    add_field(&text, "left=", run.left);
    add(&text, "done=1");
    tell_status(&text);
}

static void fork_command(int outer_proc, int *report)
{
    int ends[2], gate[2], writers[2];
    char byte;
    pid_t self = getpid();
    open_streams(writers);
    must(pipe2(ends, O_CLOEXEC) == 0 && pipe2(gate, O_CLOEXEC) == 0, "report");
    run.command = fork();
    must(run.command >= 0, "fork");
    if (run.command == 0) {
        /* It keeps its own copy of the words, and goes on when its parent has none any more that could be seen. */
        (void)close(gate[1]);
        while (is_seen && read(gate[0], &byte, 1) < 0 && errno == EINTR) continue;
        (void)close(gate[0]);
        exec_report = ends[1];
        for (int i = 0; i < 2; i++)
            if (writers[i] >= 0) must(dup2(writers[i], i + 1) == i + 1, "output");
        become_command(outer_proc, self);
    }
    has_tree = true;
    wipe_words();
    (void)close(gate[0]);
    (void)close(gate[1]);
    (void)close(ends[1]);
    for (int i = 0; i < 2; i++) close_one(&writers[i]);
    *report = ends[0];
}

static void hear_command(void);

/* Runs the command to its end and gives the exit status that stands for it. */
static int supervise(int outer_proc)
{
    int report;
    char how = '\0';
    hear_command();
    find_children_files();
    must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "subreaper");
    uint64_t start = now_us();
    fork_command(outer_proc, &report);
    /* What only the command reads from or holds has to end when the command closes it. */
    (void)close(STDIN_FILENO);
    close_one(&outer_proc);
    for (size_t i = 0; i < plan.kept_count; i++) (void)close((int)plan.kept[i]);
    attend(start);
    uint64_t wall_us = now_us() - start;
    if (run.ended && was_ended_by_rlimit()) run.stop = STOP_CPU;
    has_tree = false;
    if (!end_tree()) fail("end", ETIMEDOUT);
    drain();
    /* Who failed before its exec has said so itself. */
    if (read(report, &how, 1) == 1 && how == 'F') return EXIT_SETUP;
    tell_end(wall_us);
    return WIFSIGNALED(run.status) ? 128 + WTERMSIG(run.status) : WEXITSTATUS(run.status);
}

static void block_signals(sigset_t *set)
{
    must(sigemptyset(set) == 0, "signals");
    for (size_t i = 0; i < 4; i++) must(sigaddset(set, (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP}[i]) == 0, "signals");
    must(sigprocmask(SIG_BLOCK, set, NULL) == 0, "signals");
}

/* The process outside of the namespaces: passes on the wish to end, and the end. */
_Noreturn static void stand_outside(pid_t inner, const sigset_t *signals)
{
    wipe_words();
    (void)close(STDIN_FILENO);
    for (size_t i = 0; i < plan.kept_count; i++) (void)close((int)plan.kept[i]);
    /* The process inside has handed over what there is, or is about to. */
    if (plan.handles != 0) (void)close((int)plan.handles);
    for (;;) {
        int status, number = sigwaitinfo(signals, NULL);
        if (number > 0 && number != SIGCHLD) (void)kill(inner, SIGTERM);
        if (waitpid(inner, &status, WNOHANG) != inner || (!WIFEXITED(status) && !WIFSIGNALED(status))) continue;
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
}

/* Where nobody wants the command any more, nothing is started. */
static void look_at_control(void)
{
    struct pollfd control = {(int)plan.control, POLLIN, 0};
    TEXT(line, 64);
    if (plan.control == 0 || poll(&control, 1, 0) == 0) return;
    add(&line, "cancelled=1");
    tell_status(&line);
    refuse("control", "has ended or been written to already", "one that is held");
}

static int run_supervised(void)
{
    sigset_t signals;
    int life[2], outer_proc = -1;
    look_at_control();
    block_signals(&signals);
    /* An order to end rather than SIGKILL: a supervisor that dies at once would leave behind what has left its session. */
    must(prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0, "parent-death");
    if (starter != 0 && getppid() != starter) _exit(EXIT_SETUP);
    if (plan.ns != 0) {
        uid_t uid = geteuid();
        gid_t gid = getegid();
        outer_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        must(outer_proc >= 0 && pipe2(life, O_CLOEXEC) == 0, "namespaces");
        pid_t inner = fork_into_namespaces();
        if (inner > 0) stand_outside(inner, &signals);
        (void)close(life[1]);
        enter_namespaces(uid, gid);
        must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "parent-death");
        /* The parent has no pid here to compare with; it alone holds the other end of this. */
        struct pollfd outside = {life[0], POLLIN, 0};
        if (poll(&outside, 1, 0) != 0) _exit(EXIT_SETUP);
        (void)close(life[0]);
    }
    run.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    must(run.signals >= 0, "signals");
    return supervise(outer_proc);
}

/* ---- Words that come on a descriptor, and requests. ---- */

/* Requests as they come, or the words of one launch. What is not touched takes no memory, here and after a fork. */
static _Alignas(4096) char frames[4 + MAX_FRAME];
static char *listed_words[MAX_WORDS + 2];

static uint32_t number_at(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Lists strings, each with a NUL after it, as the words of a command line; gives how many there are with its name. */
static int list_words(char *text, size_t length)
{
    static char name[] = "palisade-launcher";
    int count = 0;
    listed_words[count++] = name;
    for (size_t at = 0; at < length; at += strlen(text + at) + 1) {
        if (count > MAX_WORDS) fail("words", E2BIG);
        listed_words[count++] = text + at;
    }
    listed_words[count] = NULL;
    return count;
}

static size_t read_to_end(int descriptor)
{
    size_t length = 0;
    for (;;) {
        ssize_t count = read(descriptor, frames + length, sizeof frames - length);
        if (count < 0 && errno == EINTR) continue;
        must(count >= 0, "words");
        if (count == 0) return length;
        length += (size_t)count;
        if (length == sizeof frames) fail("words", E2BIG);
    }
}

/* The words that come on a descriptor, listed; gives how many there are with a name before them. */
static int read_listed(int descriptor)
{
    static const char WORDS[] = "words";
    size_t length = read_to_end(descriptor);
    (void)close(descriptor);
    /* Nobody has a use for this process any more. */
    if (length == 0) _exit(EXIT_SETUP);
    /* Boundary: words that were cut off are not the words of a smaller launch. */
    if (length < 4 || (length > 4 && frames[length - 1] != '\0')) refuse(WORDS, "are cut off", "all of them");
    int count = list_words(frames + 4, length - 4);
    if (number_at(frames) != (uint32_t)count - 1) refuse(WORDS, "are another number of words than they say", "that number");
    plan.has_own_variables = true;
    is_seen = false;
    return count;
}

/* Waits for the words of a launch, which are then its words as if they had been on the command line. */
static int wait_for_words(const char *word)
{
    uint64_t descriptor;
    /* Boundary: before it waits, for others of its user may be at work already. */
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
    if (!read_number(word + strlen("words="), 3, MAX_DESCRIPTOR, &descriptor) || fcntl((int)descriptor, F_GETFD) < 0)
        refuse(word, "is no descriptor that is open", "the number of one, from 3 on");
    return read_listed((int)descriptor);
}

/*
 * The sandbox stands; its command may be told much later, or never. Meanwhile an order to end, or the end of the control,
 * is the end.
 */
static void hear_command(void)
{
    if (plan.words == 0) return;
    struct pollfd watched[3] = {{(int)plan.words, POLLIN, 0},
                                {run.signals, POLLIN, 0},
                                {plan.control == 0 ? -1 : (int)plan.control, POLLIN, 0}};
    while (watched[0].revents == 0) {
        if (poll(watched, COUNT(watched), -1) < 0 && errno != EINTR) fail("poll", errno);
        if (watched[2].revents != 0 || (watched[1].revents != 0 && take_signals())) _exit(EXIT_SETUP);
    }
    int count = read_listed((int)plan.words);
    read_told(count, listed_words);
}

/* The command may open it by name (/dev/stdin), which asks who owns it. The starter made the pipe for this run alone. */
static void own_input(void)
{
    struct stat status;
    if (starter == 0 || plan.uid == 0 || fstat(STDIN_FILENO, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
    must(fchown(STDIN_FILENO, (uid_t)plan.uid, (gid_t)plan.gid) == 0, "input");
}

static int launch(int count, char **words)
{
    TEXT(line, 64);
    if (count == 2 && strncmp(words[1], "words=", strlen("words=")) == 0) {
        count = wait_for_words(words[1]);
        words = listed_words;
    }
    read_words(count, words);
    close_others();
    own_input();
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
    /* Both may be inherited the other way round: a reader that is gone ends nothing here, and every child is waited for. */
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGCHLD, SIG_DFL) != SIG_ERR, "signals");
    if (plan.uid == 0) require_no_host_root();
    add(&line, "launcher=1");
    if (!is_status_left()) tell_status(&line);
    read_filter();
    for (size_t i = 0; i < plan.cgroup_count; i++) {
        must(write((int)plan.cgroups[i], "0", 1) == 1, "cgroup");
        (void)close((int)plan.cgroups[i]);
    }
    /* It has a pid namespace to itself already. */
    if (getpid() == 1) plan.ns = 0;
    leave_network();
    mount_workspace();
    if (plan.exec_in_place) become_command(-1, starter);
    return run_supervised();
}

/* ---- The starter. ---- */

/*
 * One that was forked: its process until that is waited for, the gateway's ends until those are taken, and where its
 * listeners come from, which is -1 when no more do.
 */
struct served {
    uint64_t id;
    pid_t process;
    size_t end_count, listener_count;
    int ends[MAX_GIVEN], handles;
};
static struct served served[MAX_RUNS];

/* What a request asks for, opened. */
enum { NOT_HELD = -1 };
struct start {
    uint64_t id;
    size_t given_count, end_count;
    int given[MAX_GIVEN], ends[MAX_GIVEN], handles;
    /* How a descriptor of the gateway's is to be opened; NOT_HELD for all others. */
    int access[MAX_GIVEN];
    const char *bytes;
    size_t byte_count;
};

static struct {
    int requests, handles;
    pid_t gateway;
    size_t held;
} service = {-1, -1, 0, 0};

_Noreturn static void leave(int status)
{
    has_tree = false;
    _exit(end_tree() ? status : EXIT_SETUP);
}

/* Boundary: a request that is not understood is never half of one; whoever sends such has lost count, and all ends. */
static void require_form(bool is_sound)
{
    if (!is_sound) leave(EXIT_SETUP);
}

/* Waits for as long as the gateway lives and does not read, unless it is told to end. */
static void reply(struct text *line)
{
    line->bytes[line->length++] = '\n';
    for (size_t sent = 0; sent < line->length;) {
        ssize_t count = send(service.requests, line->bytes + sent, line->length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0) {
            sent += (size_t)count;
        } else if (errno == EAGAIN) {
            struct pollfd watched[2] = {{service.requests, POLLOUT, 0}, {run.signals, POLLIN, 0}};
            (void)poll(watched, 2, -1);
            if (take_signals()) leave(0);
        } else if (errno != EINTR) {
            leave(0);
        }
    }
    line->length = 0;
}

static void begin_reply(struct text *line, const char *what, uint64_t id)
{
    add(line, what);
    add_number(line, id);
    add_byte(line, ' ');
}

static struct served *find_served(uint64_t id)
{
    for (size_t i = 0; i < MAX_RUNS; i++)
        if (served[i].id == id) return &served[i];
    return NULL;
}

static void forget_if_over(struct served *each)
{
    if (each->process == 0 && each->end_count == 0) each->id = 0;
}

static void take_ends(struct served *each)
{
    while (each->end_count > 0) (void)close(each->ends[--each->end_count]);
    forget_if_over(each);
}

static void kill_served(const struct served *each)
{
    if (each->process == 0) return;
    (void)kill(-each->process, SIGKILL);
    /* It may not have come to its own session yet. */
    (void)kill(each->process, SIGKILL);
}

/* ---- The starter: what a run is given. Each of these gives -1 and errno when it cannot. ---- */

/* One of the gateway's own, opened anew, so that the run shares neither its position nor its flags. */
static int open_of_gateway(const char *text, int access, struct start *start)
{
    uint64_t number;
    TEXT(name, 32);
    TEXT(path, 64);
    require_form(read_number(text, 0, MAX_DESCRIPTOR, &number));
    add(&name, "fd/");
    add_number(&name, number);
    /* Boundary: only held, which asks no file system; one that does not answer would keep all other runs waiting. */
    int file = open(path_of(&path, service.gateway, string_of(&name)), O_PATH | O_CLOEXEC);
    int error = errno;
    /* Boundary: the number was that of the gateway when it was opened, for the gateway is still there. */
    if (getppid() != service.gateway) leave(0);
    errno = error;
    start->access[start->given_count] = access;
    return file;
}

/* What the starter only holds is opened by the run that it is for. */
static int open_held(int held, int access)
{
    TEXT(path, 64);
    add(&path, "/proc/self/fd/");
    add_number(&path, (uint64_t)held);
    /* Never waits for the other end of a pipe that has a name. */
    int file = open(string_of(&path), access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    must(file >= 0 && fcntl(file, F_SETFL, 0) == 0, "descriptors");
    (void)close(held);
    return file;
}

/* A file in memory that nobody can write to any more, and a descriptor that could not either. */
static int open_bytes(const char *bytes, size_t length)
{
    TEXT(path, 64);
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int file = memfd_create("palisade", flags | MEMFD_NOEXEC_SEAL), again = -1;
    /* Before Linux 6.3. */
    if (file < 0 && errno == EINVAL) file = memfd_create("palisade", flags);
    if (file < 0) return -1;
    bool is_whole = true;
    while (is_whole && length > 0) {
        ssize_t count = write(file, bytes, length);
        if (count < 0 && errno == EINTR) continue;
        is_whole = count > 0;
        if (is_whole) {
            bytes += count;
            length -= (size_t)count;
        }
    }
    if (is_whole && fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0) {
        add(&path, "/proc/self/fd/");
        add_number(&path, (uint64_t)file);
        again = open(string_of(&path), O_RDONLY | O_CLOEXEC);
    }
    int error = errno;
    (void)close(file);
    errno = error;
    return again;
}

static int open_handles(struct start *start)
{
    int ends[2];
    /* Boundary: one for each run, and only where there is somebody to give its listeners to. */
    require_form(service.handles >= 0 && start->handles < 0);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    start->handles = ends[0];
    return ends[1];
}

static int open_end(struct start *start, bool is_read_by_run)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    start->ends[start->end_count++] = ends[is_read_by_run ? 1 : 0];
    return ends[is_read_by_run ? 0 : 1];
}

static struct {
    struct map_ids ids;
    int map;
    uint64_t used;
} maps[MAX_MAPS];

static bool is_same_map(const struct map_ids *a, const struct map_ids *b)
{
    return a->owner_uid == b->owner_uid && a->owner_gid == b->owner_gid && a->uid == b->uid && a->gid == b->gid;
}

/* A user namespace for these ids, made once; the one that was not asked for the longest makes room. */
static int open_kept_map(const struct map_ids *ids)
{
    static uint64_t clock = 0;
    size_t at = 0;
    for (size_t i = 0; i < MAX_MAPS; i++) {
        if (maps[i].used != 0 && is_same_map(&maps[i].ids, ids)) {
            at = i;
            break;
        }
        if (maps[i].used < maps[at].used) at = i;
    }
    if (maps[at].used == 0 || !is_same_map(&maps[at].ids, ids)) {
        int map = make_map(ids);
        if (map < 0) return -1;
        if (maps[at].used != 0) (void)close(maps[at].map);
        maps[at].ids = *ids;
        maps[at].map = map;
    }
    maps[at].used = ++clock;
    return fcntl(maps[at].map, F_DUPFD_CLOEXEC, 3);
}

static int open_map_of(char *text)
{
    uint64_t numbers[4];
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char *colon = strchr(text, ':');
        require_form((colon == NULL) == (i + 1 == COUNT(numbers)));
        if (colon != NULL) *colon = '\0';
        require_form(read_number(text, 0, UINT32_MAX - 1, &numbers[i]));
        if (colon != NULL) text = colon + 1;
    }
    const struct map_ids ids = {numbers[0], numbers[1], numbers[2], numbers[3]};
    return open_kept_map(&ids);
}

static int open_next_bytes(const char *text, struct start *start)
{
    uint64_t length;
    require_form(read_number(text, 0, start->byte_count, &length));
    const char *bytes = start->bytes;
    start->bytes += length;
    start->byte_count -= (size_t)length;
    return open_bytes(bytes, (size_t)length);
}

/* Opens what a descriptor's word asks for; `step` is what that is called where it fails. */
static int open_given(char *word, struct start *start, const char **step)
{
    char *colon = strchr(word, ':');
    char *value = colon == NULL ? NULL : colon + 1;
    *step = word;
    if (colon != NULL) *colon = '\0';
    if (value == NULL && strcmp(word, "null") == 0) return open("/dev/null", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (value == NULL && strcmp(word, "out") == 0) return open_end(start, false);
    if (value == NULL && strcmp(word, "in") == 0) return open_end(start, true);
    if (value == NULL && strcmp(word, "handles") == 0) return open_handles(start);
    require_form(value != NULL);
    if (strcmp(word, "read") == 0) return open_of_gateway(value, O_RDONLY, start);
    if (strcmp(word, "write") == 0) return open_of_gateway(value, O_WRONLY, start);
    if (strcmp(word, "bytes") == 0) return open_next_bytes(value, start);
    require_form(strcmp(word, "map") == 0);
    return open_map_of(value);
}

/* ---- The starter: starting. ---- */

/* The numbers that the run's descriptors have now are all in use when the first one takes its place. */
static void place_descriptors(struct start *start)
{
    int count = (int)start->given_count;
    for (int i = 0; i < count; i++) {
        if (start->access[i] != NOT_HELD) start->given[i] = open_held(start->given[i], start->access[i]);
        if (start->given[i] >= count) continue;
        start->given[i] = fcntl(start->given[i], F_DUPFD_CLOEXEC, count);
        must(start->given[i] >= 0, "descriptors");
    }
    for (int i = 0; i < count; i++) must(dup2(start->given[i], i) == i, "descriptors");
    /* Boundary: neither the requests nor a pipe of another run are within reach of what follows. */
    close_range_of((uint64_t)count, UINT32_MAX);
    hold_standard_streams();
}

/* In the forked process: forgets that it was the starter, and goes on as a launcher with these words. */
_Noreturn static void become_launcher(struct start *start, char *words, size_t length)
{
    static char *no_variables[1];
    sigset_t none;
    has_tree = false;
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
    must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "parent-death");
    if (getppid() != starter) _exit(EXIT_SETUP);
    must(setsid() >= 0, "session");
    run.signals = -1;
    place_descriptors(start);
    must(sigemptyset(&none) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0, "signals");
    environ = no_variables;
    plan.has_own_variables = true;
    int count = list_words(words, length);
    _exit(launch(count, listed_words));
}

static void close_given(struct start *start)
{
    while (start->given_count > 0) (void)close(start->given[--start->given_count]);
}

static void give_up(struct start *start, const char *step, int error)
{
    TEXT(line, 128);
    close_given(start);
    while (start->end_count > 0) (void)close(start->ends[--start->end_count]);
    close_one(&start->handles);
    begin_reply(&line, "failed ", start->id);
    add(&line, step);
    add_byte(&line, ' ');
    add(&line, name_of_error(error));
    reply(&line);
}

static void fork_launcher(struct start *start, char *words, size_t length)
{
    struct served *each = find_served(0);
    if (each == NULL) {
        give_up(start, "runs", EUSERS);
        return;
    }
    pid_t self = getpid(), process = fork();
    if (process == 0) {
        starter = self;
        become_launcher(start, words, length);
    }
    if (process < 0) {
        give_up(start, "fork", errno);
        return;
    }
    TEXT(line, 1024);
    close_given(start);
    *each = (struct served){
        .id = start->id, .process = process, .end_count = start->end_count, .handles = start->handles};
    memcpy(each->ends, start->ends, start->end_count * sizeof start->ends[0]);
    begin_reply(&line, "started ", start->id);
    add_number(&line, (uint64_t)process);
    for (size_t i = 0; i < start->end_count; i++) {
        add_byte(&line, ' ');
        add_number(&line, (uint64_t)start->ends[i]);
    }
    reply(&line);
}

/* Strings of a request that were not read yet; each has a NUL after it. */
struct strings {
    char *at;
    size_t length;
};

static char *next_string(struct strings *strings)
{
    char *string = strings->at;
    require_form(strings->length > 0);
    size_t size = strlen(string) + 1;
    strings->at += size;
    strings->length -= size;
    return string;
}

static void take_start(struct start *start, struct strings *strings)
{
    const char *failed = NULL, *step = NULL;
    int error = 0;
    require_form(find_served(start->id) == NULL);
    for (char *word; strcmp(word = next_string(strings), "--") != 0;) {
        require_form(start->given_count < MAX_GIVEN);
        start->access[start->given_count] = NOT_HELD;
        int given = failed != NULL ? -1 : open_given(word, start, &step);
        if (given >= 0) start->given[start->given_count++] = given;
        else if (failed == NULL) {
            failed = step;
            error = errno;
        }
    }
    if (failed != NULL) {
        give_up(start, failed, error);
        return;
    }
    require_form(start->byte_count == 0);
    fork_launcher(start, strings->at, strings->length);
}

static void take_frame(char *frame, size_t length)
{
    struct start start = {.handles = -1};
    uint32_t text = number_at(frame);
    /* Boundary: every string that is read from here on ends inside of the request. */
    require_form(text > 0 && text <= length - 4 && frame[4 + text - 1] == '\0');
    struct strings strings = {frame + 4, text};
    const char *kind = next_string(&strings);
    require_form(read_number(next_string(&strings), 1, MOST_NUMBER, &start.id));
    start.bytes = frame + 4 + text;
    start.byte_count = length - 4 - text;
    if (strcmp(kind, "start") == 0) {
        take_start(&start, &strings);
        return;
    }
    require_form(strings.length == 0 && start.byte_count == 0);
    /* One that has ended since the gateway wrote this is none to wonder at. */
    struct served *each = find_served(start.id);
    if (strcmp(kind, "took") == 0) {
        if (each != NULL) take_ends(each);
    } else {
        require_form(strcmp(kind, "kill") == 0);
        if (each != NULL) kill_served(each);
    }
}

/* ---- The starter: listeners, which it gets from the launchers and passes on to the gateway. ---- */

/*
 * The one that is on its way. The gateway is Node, whose channel between processes takes a line of JSON with a
 * descriptor and answers each with another line; until then no second one is sent. Those that wait do so in their sockets.
 */
static struct {
    struct served *of;
    int server, tries;
    size_t sent, held;
    struct text line;
    char bytes[160], answers[64];
} passing = {.server = -1};

/* A run that does not have what it asked for is none. */
static void break_off(struct served *each)
{
    if (each == NULL) return;
    close_one(&each->handles);
    kill_served(each);
}

static void pass_on(void)
{
    const struct text *line = &passing.line;
    ssize_t count = send_with(service.handles, line->bytes + passing.sent, line->length - passing.sent,
                              passing.sent == 0 ? passing.server : -1);
    if (count >= 0) {
        passing.sent += (size_t)count;
    } else if (errno == EPIPE || errno == ECONNRESET) {
        leave(0);
    } else if (errno != EAGAIN && errno != EINTR) {
        break_off(passing.of);
        close_one(&passing.server);
    }
}

static void begin_passing(struct served *each, int server)
{
    passing.of = each;
    passing.server = server;
    passing.tries = 1;
    passing.sent = 0;
    passing.line = (struct text){passing.bytes, sizeof passing.bytes, 0};
    add(&passing.line, "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Server\",\"msg\":{\"run\":");
    add_number(&passing.line, each->id);
    add(&passing.line, ",\"index\":");
    add_number(&passing.line, each->listener_count++);
    add(&passing.line, "}}\n");
    pass_on();
}

static void take_answer(const char *answer)
{
    bool is_taken = strcmp(answer, "{\"cmd\":\"NODE_HANDLE_ACK\"}") == 0;
    /* Boundary: one answer to each line, and nothing besides. */
    require_form(is_taken || strcmp(answer, "{\"cmd\":\"NODE_HANDLE_NACK\"}") == 0);
    require_form(passing.server >= 0 && passing.sent == passing.line.length);
    if (!is_taken && passing.tries < HANDLE_TRIES) {
        passing.tries += 1;
        passing.sent = 0;
        pass_on();
        return;
    }
    if (!is_taken) break_off(passing.of);
    close_one(&passing.server);
}

static void read_answers(void)
{
    ssize_t count = recv(service.handles, passing.answers + passing.held, sizeof passing.answers - passing.held,
                         MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) leave(0);
    passing.held += (size_t)count;
    for (char *end; (end = memchr(passing.answers, '\n', passing.held)) != NULL;) {
        *end = '\0';
        take_answer(passing.answers);
        passing.held -= (size_t)(end + 1 - passing.answers);
        memmove(passing.answers, end + 1, passing.held);
    }
    require_form(passing.held < sizeof passing.answers);
}

static bool is_listener(int descriptor)
{
    int value = 0;
    socklen_t size = sizeof value;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) != 0 || value != 1) return false;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &value, &size) != 0 || value != IPPROTO_TCP) return false;
    return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &value, &size) == 0 && (value == AF_INET || value == AF_INET6);
}

/* The one descriptor that came with a message, or -1. */
static int descriptor_of(struct msghdr *message)
{
    int descriptor = -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
    if (header->cmsg_len == CMSG_LEN(sizeof descriptor)) memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

/* Takes the next listener of a run. */
static void take_listener_of(struct served *each)
{
    char bytes[8];
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {bytes, sizeof bytes};
    /* Boundary: CMSG_LEN, because CMSG_SPACE has room for a second descriptor, which would stay open here. */
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t count = recvmsg(each->handles, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
        close_one(&each->handles);
        return;
    }
    TEXT(expected, 24);
    add_number(&expected, each->listener_count);
    add_byte(&expected, '\n');
    int server = descriptor_of(&message);
    /* Boundary: the launcher alone writes here, before the command is there; whatever else comes is not passed on. */
    if (each->listener_count < MAX_LISTENERS && (size_t)count == expected.length &&
        memcmp(bytes, expected.bytes, expected.length) == 0 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
        server >= 0 && is_listener(server)) {
        begin_passing(each, server);
        return;
    }
    close_one(&server);
    break_off(each);
}

/* ---- The starter: its life. ---- */

/* Moves what is left of the requests to the front. Nothing of a run's words stays for those that are forked later. */
static void drop_frames(size_t done)
{
    size_t rest = service.held - done;
    memmove(frames, frames + done, rest);
    memset(frames + rest, 0, done);
    if (service.held > FRAME_KEPT_BYTES && rest <= FRAME_KEPT_BYTES)
        (void)madvise(frames + FRAME_KEPT_BYTES, sizeof frames - FRAME_KEPT_BYTES, MADV_DONTNEED);
    service.held = rest;
}

static void read_requests(void)
{
    ssize_t count = recv(service.requests, frames + service.held, sizeof frames - service.held, MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) leave(0);
    service.held += (size_t)count;
    size_t done = 0;
    while (service.held - done >= 4) {
        uint32_t length = number_at(frames + done);
        require_form(length >= 4 && length <= MAX_FRAME);
        if (service.held - done - 4 < length) break;
        take_frame(frames + done + 4, length);
        done += 4 + (size_t)length;
    }
    if (done > 0) drop_frames(done);
}

static void tell_end_of(struct served *each, int status)
{
    TEXT(line, 128);
    begin_reply(&line, "ended ", each->id);
    add(&line, WIFSIGNALED(status) ? "signal=" : "exit=");
    add_number(&line, (uint64_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
    each->process = 0;
    close_one(&each->handles);
    if (passing.of == each) passing.of = NULL;
    forget_if_over(each);
    reply(&line);
}

static struct served *find_process(pid_t process)
{
    if (process <= 0) return NULL;
    for (size_t i = 0; i < MAX_RUNS; i++)
        if (served[i].process == process) return &served[i];
    return NULL;
}

/* Ends what came to the starter because its parent is gone, unless it is in the session of a run that goes on. */
static void end_strays(void)
{
    struct branch root = {getpid(), -1, 0, 0};
    root.top = find_children(root.process, 0);
    for (size_t i = 0, end = root.top; i < end; i++)
        if (find_process(found[i]) == NULL && find_process(getsid(found[i])) == NULL) end_branch(found[i], &root);
}

/* Waits for all that has ended: launchers, and what came to the starter because its parent is gone. */
static void reap_served(void)
{
    for (;;) {
        siginfo_t ended = {0};
        int status;
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 && errno == EINTR) continue;
        pid_t process = ended.si_pid;
        if (process == 0) return;
        struct served *each = find_process(process);
        /* Its number is that of its group and of no other until it is waited for. */
        if (each != NULL) (void)kill(-process, SIGKILL);
        if (waitpid(process, &status, __WALL) != process) continue;
        /* A launcher that was killed leaves to the starter what was its to end, and so does what it leaves. */
        if (WIFSIGNALED(status)) end_strays();
        if (each != NULL) tell_end_of(each, status);
    }
}

static int socket_of(const char *word, const char *key)
{
    struct stat status;
    uint64_t number;
    if (strncmp(word, key, strlen(key)) != 0 || !read_number(word + strlen(key), 3, MAX_DESCRIPTOR, &number) ||
        fstat((int)number, &status) != 0 || !S_ISSOCK(status.st_mode))
        refuse(word, "is no socket that is open", "requests=FD, and handles=FD after it, with mode=serve");
    must(fcntl((int)number, F_SETFD, FD_CLOEXEC) == 0, "descriptors");
    return (int)number;
}

static void open_service(int count, char **words)
{
    sigset_t signals;
    service.requests = socket_of(words[0], "requests=");
    service.handles = count == 1 ? -1 : socket_of(words[1], "handles=");
    if (count > 1 && (service.handles == service.requests || !is_unix_stream(service.handles)))
        refuse(words[1], "is no unix stream socket of its own", "one that passes descriptors on");
    service.gateway = getppid();
    uint64_t first = (uint64_t)service.requests, last = first;
    if (count > 1 && service.handles < service.requests) first = (uint64_t)service.handles;
    if (count > 1 && service.handles > service.requests) last = (uint64_t)service.handles;
    close_range_of(3, first - 1);
    close_range_of(first + 1, last - 1);
    close_range_of(last + 1, UINT32_MAX);
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGCHLD, SIG_DFL) != SIG_ERR, "signals");
    block_signals(&signals);
    run.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    must(run.signals >= 0, "signals");
    find_children_files();
    must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "subreaper");
    has_tree = true;
}

enum { WATCH_REQUESTS, WATCH_SIGNALS, WATCH_HANDLES, WATCH_RUNS };
static struct pollfd watches[WATCH_RUNS + MAX_RUNS];

static size_t watch_all(void)
{
    size_t count = WATCH_RUNS;
    bool is_unsent = passing.server >= 0 && passing.sent < passing.line.length;
    watches[WATCH_REQUESTS] = (struct pollfd){service.requests, POLLIN, 0};
    watches[WATCH_SIGNALS] = (struct pollfd){run.signals, POLLIN, 0};
    watches[WATCH_HANDLES] = (struct pollfd){service.handles, (short)(is_unsent ? POLLIN | POLLOUT : POLLIN), 0};
    /* One listener at a time: the others wait where they are. */
    for (size_t i = 0; passing.server < 0 && i < MAX_RUNS; i++)
        if (served[i].id != 0 && served[i].handles >= 0)
            watches[count++] = (struct pollfd){served[i].handles, POLLIN, 0};
    return count;
}

/* Takes the next listener that there is. The turn goes round, so that no run waits for all the others. */
static void turn_to_listeners(size_t count)
{
    static size_t turn = 0;
    for (size_t tried = 0; passing.server < 0 && count > WATCH_RUNS && tried < MAX_RUNS; tried++) {
        struct served *each = &served[turn = (turn + 1) % MAX_RUNS];
        for (size_t i = WATCH_RUNS; each->id != 0 && each->handles >= 0 && i < count; i++) {
            if (watches[i].fd != each->handles || watches[i].revents == 0) continue;
            take_listener_of(each);
            break;
        }
    }
}

/* Never returns: starts what is asked for until nobody asks any more, and leaves nothing behind. */
_Noreturn static void serve_requests(int count, char **words)
{
    open_service(count, words);
    for (;;) {
        reap_served();
        size_t watched = watch_all();
        if (poll(watches, (nfds_t)watched, -1) < 0) {
            if (errno != EINTR) fail("poll", errno);
            continue;
        }
        const short handles = watches[WATCH_HANDLES].revents;
        if (watches[WATCH_SIGNALS].revents != 0 && take_signals()) leave(0);
        /* What a gateway that is gone has asked for last is not started any more. */
        if ((watches[WATCH_REQUESTS].revents & ~POLLIN) != 0 || (handles & ~(POLLIN | POLLOUT)) != 0) leave(0);
        if ((handles & POLLOUT) != 0) pass_on();
        if ((handles & POLLIN) != 0) read_answers();
        turn_to_listeners(watched);
        if (watches[WATCH_REQUESTS].revents != 0) read_requests();
    }
}

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
    is_seen = true;
    return launch(count, words);
}
