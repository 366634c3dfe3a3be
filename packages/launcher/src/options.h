/* The plan of one launch, from its arguments. 0 means that a number was not set, because no key accepts 0. */
#pragma once

#include "launcher.h"

enum {
    MAX_VARIABLES = 4096,
    MAX_LISTENERS = 64,
    MAX_PORTS = 8,
    MAX_RULES = 1024,
    /* A script, and as many interpreters as the kernel follows. */
    MAX_HELD = 6,
    MAX_COPIES = 64,
    MAX_OWN = 8,
    HELD_NUMBERS = 7,
    HELD_DIGEST = 32,
    MAX_LISTED = 8 + 2 * MAX_DESCRIPTORS,
};

struct rlimit_key {
    const char *name;
    int resource;
    uint64_t value;
};
enum { RLIMIT_KEY_CPU, RLIMIT_KEYS = 6 };
extern struct rlimit_key rlimits[RLIMIT_KEYS];

/* A path. One that was judged leads to the directory with these numbers, or nothing starts. */
struct place {
    const char *path;
    bool is_judged;
    uint64_t device, inode;
};
struct rule {
    struct place place;
    bool writable;
};
struct listener {
    bool is_ipv6;
    uint32_t address;
    uint16_t port;
};
/* A file of the command that was judged: recognised by its numbers, or by its digest. */
enum held_kind { HELD_SAME, HELD_PROGRAM, HELD_SCRIPT };
struct held_file {
    const char *path;
    enum held_kind kind;
    uint64_t size, numbers[HELD_NUMBERS];
    unsigned char digest[HELD_DIGEST];
};
struct plan {
    uint64_t cpu_ms, wall_ms, output, status, control, arguments, seccomp, ns, uid, gid, workspace, map, chdir, facts;
    uint64_t net, handles, sockets, sample, cut, flood, connects;
    bool has_mode, exec_in_place, has_owner, has_own_variables;
    uint64_t owner_uid, owner_gid;
    struct place cwd;
    const char *copies;
    const char *own[MAX_OWN];
    uint64_t cgroups[MAX_DESCRIPTORS], kept[MAX_DESCRIPTORS];
    size_t cgroup_count, kept_count, rule_count, variable_count, listener_count, port_count, held_count, own_count;
    struct held_file held[MAX_HELD];
    struct rule rules[MAX_RULES];
    struct listener listeners[MAX_LISTENERS];
    uint16_t ports[MAX_PORTS];
    char *variables[MAX_VARIABLES + 1];
    const char *file;
    char **argv;
};
extern struct plan plan;

/* Whether the arguments are those of the command line, which other processes can read. */
extern bool is_visible;

void wipe_arguments(void);
size_t list_descriptors(uint64_t *list);
bool is_status_left(void);
void read_arguments(int count, char **arguments);
void read_command_arguments(int count, char **arguments);
