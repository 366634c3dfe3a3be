#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "confine.h"
#include "facts.h"
#include "gate.h"
#include "kernel.h"
#include "mounts.h"
#include "options.h"
#include "proc.h"
#include "report.h"

/* The files are opened before Landlock may hide them and read after that: the kernel generates their text on reading. */
enum { FACT_STATUS, FACT_NET, FACT_MOUNTS, FACT_CGROUP, FACT_FILES };
static int fact_files[FACT_FILES];
/* All of them are written at once, since each write wakes the reader. */
enum { FACT_BYTES = 65536 };
static char fact_bytes[2 * FACT_BYTES];
static struct text fact = {fact_bytes, sizeof fact_bytes, 0};
/* Where the current fact begins. */
static size_t fact_start;

void open_facts(void)
{
    static const char *const PATHS[FACT_FILES] = {
        "/proc/self/status", "/proc/self/net/dev", "/proc/self/mountinfo", "/proc/self/cgroup"};
    if (plan.facts == 0) return;
    for (size_t i = 0; i < FACT_FILES; i++) {
        fact_files[i] = open(PATHS[i], O_RDONLY | O_CLOEXEC);
        /* A kernel without cgroups has no such file, and nothing is reported. */
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
    fact_start = fact.length;
    add(&fact, "fact.");
    add(&fact, name);
    add(&fact, part);
    add_byte(&fact, '=');
}

static void end_fact(void)
{
    /* Boundary: a list that was cut short would hide what follows. */
    if (fact.length + 1 == fact.size) fail("facts", E2BIG);
    check_fact(string_of(&fact) + fact_start + strlen("fact."));
    add_byte(&fact, '\n');
}

static void tell_fact_number(const char *name, uint64_t number)
{
    begin_fact(name, "");
    add_number(&fact, number);
    end_fact();
}

/* The fields of a line with one space between them; a single field where all are the same, like the four uids. */
static void add_fields(char *line, bool is_same)
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
            add_fields(line, KEYS[i].is_same);
            end_fact();
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
        end_fact();
    }
}

static void tell_lines(const char *name, int file)
{
    begin_fact(name, "");
    read_from(file);
    for (char *line, *between = ""; file >= 0 && (line = next_line()) != NULL; between = ";") {
        add(&fact, between);
        add_fields(line, false);
    }
    end_fact();
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
    end_fact();
}

/* The mounts that are not read-only, or only those of control groups that can be reached. */
static uint64_t tell_writable(const char *name, bool only_groups)
{
    uint64_t count = 0;
    const char *between = "";
    struct mount_line mount;
    begin_fact(name, "");
    if (fact_files[FACT_MOUNTS] >= 0) (void)lseek(fact_files[FACT_MOUNTS], 0, SEEK_SET);
    read_from(fact_files[FACT_MOUNTS]);
    for (; fact_files[FACT_MOUNTS] >= 0 && next_mount(&mount); count++) {
        if (mount.is_read_only || (only_groups && !is_open_group(&mount))) continue;
        add(&fact, between);
        add_escaped(&fact, mount.point, ',');
        between = ",";
    }
    end_fact();
    return count;
}

static void tell_mounts(void)
{
    uint64_t count = tell_writable("mounts_rw", false);
    (void)tell_writable("cgroups_rw", true);
    tell_fact_number("mounts", count);
}

void report_facts(void)
{
    static const struct {
        const char *name;
        int resource;
    } LIMITS[] = {{"cpu", RLIMIT_CPU},     {"data", RLIMIT_DATA}, {"fsize", RLIMIT_FSIZE}, {"nofile", RLIMIT_NOFILE},
                  {"nproc", RLIMIT_NPROC}, {"core", RLIMIT_CORE}, {"as", RLIMIT_AS}};
    if (plan.facts == 0 || plan.status == 0) {
        if (find_gap() != NULL) fail(find_gap(), EINVAL);
        return;
    }
    tell_status_facts();
    tell_namespaces();
    tell_interfaces();
    tell_mounts();
    tell_lines("cgroup", fact_files[FACT_CGROUP]);
    tell_fact_number("landlock", (uint64_t)landlock_applied);
    tell_fact_number("connects", plan.connects);
    for (size_t i = 0; i < COUNT(LIMITS); i++) {
        struct rlimit now;
        must(getrlimit((resource_number)LIMITS[i].resource, &now) == 0, "facts");
        begin_fact("rlimit.", LIMITS[i].name);
        if (now.rlim_cur == RLIM_INFINITY) add(&fact, "unlimited");
        else add_number(&fact, now.rlim_cur);
        end_fact();
    }
    /* Boundary: the command is started only if everything that was promised holds. */
    const char *gap = find_gap();
    if (gap == NULL) return;
    tell_all_facts();
    fail(gap, EPERM);
}

/* The pid in the namespace in which the launcher was started, from "self" in the /proc of that namespace. */
void report_pid(int outer_proc)
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
