#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "descriptors.h"
#include "gate.h"
#include "kernel.h"
#include "options.h"
#include "report.h"

struct plan plan;
struct rlimit_key rlimits[RLIMIT_KEYS] = {
    {"cpu", RLIMIT_CPU, 0},       {"data", RLIMIT_DATA, 0},   {"fsize", RLIMIT_FSIZE, 0},
    {"nofile", RLIMIT_NOFILE, 0}, {"nproc", RLIMIT_NPROC, 0}, {"stack", RLIMIT_STACK, 0},
};

static const struct {
    const char *name;
    uint64_t *value, least, most;
} NUMBERS[] = {
    {"cpums", &plan.cpu_ms, 1, UINT32_MAX},
    {"wallms", &plan.wall_ms, 1, UINT32_MAX},
    {"output", &plan.output, 1, UINT64_C(1) << 53},
    {"status", &plan.status, 3, MAX_DESCRIPTOR},
    {"control", &plan.control, 3, MAX_DESCRIPTOR},
    {"words", &plan.arguments, 3, MAX_DESCRIPTOR},
    {"seccomp", &plan.seccomp, 3, MAX_DESCRIPTOR},
    {"workspace", &plan.workspace, 3, MAX_DESCRIPTOR},
    {"map", &plan.map, 3, MAX_DESCRIPTOR},
    {"handles", &plan.handles, 3, MAX_DESCRIPTOR},
    {"sockets", &plan.sockets, 3, MAX_DESCRIPTOR},
    {"ns", &plan.ns, 1, 1},
    {"net", &plan.net, 1, 1},
    {"chdir", &plan.chdir, 1, 1},
    {"facts", &plan.facts, 1, 1},
    {"sample", &plan.sample, 1, 1},
    {"cut", &plan.cut, 1, 1},
    {"flood", &plan.flood, 1, UINT64_C(1) << 53},
    {"connects", &plan.connects, 1, 1},
    /* Boundary: a command never has uid or gid 0; the largest number is the kernel's "none". */
    {"uid", &plan.uid, 1, UINT32_MAX - 1},
    {"gid", &plan.gid, 1, UINT32_MAX - 1},
};

bool is_visible = false;
static int argument_count;
static char **all_arguments;

/* Boundary: the supervisor's command line, which every process can read, does not reveal paths of the host. */
void wipe_arguments(void)
{
    for (int i = 1; is_visible && i < argument_count; i++) memset(all_arguments[i], 0, strlen(all_arguments[i]));
}

static void take_number(const char *argument, const char *value, uint64_t *slot, const uint64_t range[2])
{
    if (*slot != 0) refuse(argument, "is set twice", "it once");
    if (read_number(value, range[0], range[1], slot)) return;
    TEXT(expected, 64);
    add(&expected, "a whole number from ");
    add_number(&expected, range[0]);
    add(&expected, " to ");
    add_number(&expected, range[1]);
    refuse(argument, "is out of range", string_of(&expected));
}

static void take_one_more(const char *argument, const char *value, uint64_t *list, size_t *count)
{
    if (*count == MAX_DESCRIPTORS) refuse(argument, "is one too many", "64 descriptors at most");
    take_number(argument, value, &list[*count], (const uint64_t[]){3, MAX_DESCRIPTOR});
    *count += 1;
}

static void take_owner(const char *argument, const char *value)
{
    char user[16];
    const char *colon = strchr(value, ':');
    if (plan.has_owner) refuse(argument, "is set twice", "it once");
    plan.has_owner = true;
    size_t length = colon == NULL ? 0 : (size_t)(colon - value);
    if (length > 0 && length < sizeof user) {
        memcpy(user, value, length);
        user[length] = '\0';
        if (read_number(user, 0, UINT32_MAX - 1, &plan.owner_uid) &&
            read_number(colon + 1, 0, UINT32_MAX - 1, &plan.owner_gid))
            return;
    }
    refuse(argument, "is not a user and a group", "a uid and a gid with a colon between them");
}

static void take_variable(char *argument)
{
    char *variable = argument + strlen("set=");
    size_t length = strcspn(variable, "=");
    if (length == 0 || variable[length] == '\0') refuse(argument, "is not a variable", "set=NAME=VALUE");
    if (plan.variable_count == MAX_VARIABLES) refuse(argument, "is one variable too many", "4096 at most");
    for (size_t i = 0; i < plan.variable_count; i++)
        if (strncmp(plan.variables[i], variable, length + 1) == 0) refuse(argument, "names a variable twice", "it once");
    plan.variables[plan.variable_count++] = variable;
    plan.has_own_variables = true;
}

static bool read_address(char *text, struct listener *listener)
{
    listener->is_ipv6 = strcmp(text, "[::1]") == 0;
    for (int i = 0; i < 4 && !listener->is_ipv6; i++) {
        char *dot = strchr(text, '.');
        uint64_t part;
        if ((dot == NULL) != (i == 3)) return false;
        if (dot != NULL) *dot = '\0';
        /* Boundary: loopback only; the namespace has no other addresses. */
        if (!read_number(text, i == 0 ? 127 : 0, i == 0 ? 127 : 255, &part)) return false;
        listener->address = listener->address << 8 | (uint32_t)part;
        if (dot != NULL) text = dot + 1;
    }
    return true;
}

static void take_listener(const char *argument, const char *value)
{
    char address[sizeof "127.255.255.255"];
    uint64_t port;
    const char *colon = strrchr(value, ':');
    if (plan.listener_count == MAX_LISTENERS) refuse(argument, "is one too many", "64 listeners at most");
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
    refuse(argument, "is not a loopback address with a port", "127.B.C.D:PORT or [::1]:PORT");
}

static void take_port(const char *argument, const char *value)
{
    uint64_t port;
    if (plan.port_count == MAX_PORTS) refuse(argument, "is one too many", "8 ports at most");
    if (!read_number(value, 1, UINT16_MAX, &port)) refuse(argument, "is not a port", "a whole number from 1 to 65535");
    plan.ports[plan.port_count++] = (uint16_t)port;
}

/* Reads a number that ends with a colon, and moves behind it. */
static bool read_part(const char **text, uint64_t *number)
{
    char part[24];
    size_t length = strcspn(*text, ":");
    if (length >= sizeof part || (*text)[length] != ':') return false;
    memcpy(part, *text, length);
    part[length] = '\0';
    *text += length + 1;
    return read_number(part, 0, UINT64_MAX, number);
}

static bool read_digest(const char **text, unsigned char *digest)
{
    static const char HEX[] = "0123456789abcdef";
    for (size_t i = 0; i < (size_t)2 * HELD_DIGEST; i++) {
        const char *digit = (*text)[i] == '\0' ? NULL : strchr(HEX, (*text)[i]);
        if (digit == NULL) return false;
        digest[i / 2] = (unsigned char)(digest[i / 2] << 4 | (digit - HEX));
    }
    *text += 2 * HELD_DIGEST;
    return *(*text)++ == ':';
}

static void take_held(const char *argument, const char *key, const char *value)
{
    if (plan.held_count == MAX_HELD) refuse(argument, "is one file too many", "6 at most");
    struct held_file *file = &plan.held[plan.held_count++];
    bool is_read = true;
    file->kind = strcmp(key, "same") == 0 ? HELD_SAME : strcmp(key, "program") == 0 ? HELD_PROGRAM : HELD_SCRIPT;
    if (file->kind != HELD_SAME) is_read = read_part(&value, &file->size) && read_digest(&value, file->digest);
    for (size_t i = 0; is_read && file->kind == HELD_SAME && i < HELD_NUMBERS; i++)
        is_read = read_part(&value, &file->numbers[i]);
    file->path = value;
    if (!is_read || value[0] != '/') refuse(argument, "is not a judged file", "numbers or a digest, and an absolute path");
}

/* A path, or DEVICE:INODE:PATH: a directory that was judged. */
static struct place read_place(const char *argument, const char *value)
{
    struct place place = {value, value[0] >= '0' && value[0] <= '9', 0, 0};
    if (!place.is_judged) return place;
    bool is_read = read_part(&value, &place.device) && read_part(&value, &place.inode);
    place.path = value;
    if (!is_read || value[0] == '\0') refuse(argument, "is not a judged directory", "DEVICE:INODE:PATH");
    return place;
}

static void take_text(char *argument, const char *key, const char *value)
{
    if (strcmp(key, "mode") == 0) {
        if (plan.has_mode) refuse(argument, "is set twice", "it once");
        plan.has_mode = true;
        plan.exec_in_place = strcmp(value, "exec") == 0;
        if (!plan.exec_in_place && strcmp(value, "run") != 0) refuse(argument, "is not a mode", "run or exec");
    } else if (strcmp(key, "cwd") == 0) {
        if (plan.cwd.path != NULL || value[0] == '\0') refuse(argument, "is empty or set twice", "one path");
        plan.cwd = read_place(argument, value);
    } else if (strcmp(key, "owner") == 0) {
        take_owner(argument, value);
    } else if (strcmp(key, "set") == 0) {
        take_variable(argument);
    } else if (strcmp(key, "listen") == 0) {
        take_listener(argument, value);
    } else if (strcmp(key, "port") == 0) {
        take_port(argument, value);
    } else if (strcmp(key, "cgroup") == 0) {
        take_one_more(argument, value, plan.cgroups, &plan.cgroup_count);
    } else if (strcmp(key, "keep") == 0) {
        take_one_more(argument, value, plan.kept, &plan.kept_count);
    } else if (strcmp(key, "same") == 0 || strcmp(key, "program") == 0 || strcmp(key, "script") == 0) {
        take_held(argument, key, value);
    } else if (strcmp(key, "copies") == 0) {
        if (plan.copies != NULL || value[0] != '/' || strlen(value) > MAX_COPIES) refuse(argument, "is not one path", "a short one");
        plan.copies = value;
    } else if (strcmp(key, "own") == 0) {
        if (plan.own_count == MAX_OWN || value[0] != '/') refuse(argument, "is not an absolute path, or is one too many", "at most 8");
        plan.own[plan.own_count++] = value;
    } else if (strcmp(key, "ro") == 0 || strcmp(key, "rw") == 0) {
        struct place place = read_place(argument, value);
        if (place.path[0] != '/') refuse(argument, "is not an absolute path", "one that begins with /");
        if (plan.rule_count == MAX_RULES) refuse(argument, "is one rule too many", "1024 at most");
        plan.rules[plan.rule_count++] = (struct rule){place, key[1] == 'w'};
    } else if (!take_expectation(argument, key, value)) {
        refuse(argument, "has an unknown key", "one that the launcher knows");
    }
}

static void take_argument(char *argument)
{
    char key[16];
    const char *equals = strchr(argument, '=');
    size_t length = equals == NULL ? 0 : (size_t)(equals - argument);
    if (length == 0 || length >= sizeof key) refuse(argument, "is not KEY=VALUE", "that, or -- before FILE");
    memcpy(key, argument, length);
    key[length] = '\0';
    for (size_t i = 0; i < COUNT(NUMBERS); i++) {
        if (strcmp(key, NUMBERS[i].name) != 0) continue;
        take_number(argument, equals + 1, NUMBERS[i].value, (const uint64_t[]){NUMBERS[i].least, NUMBERS[i].most});
        return;
    }
    for (size_t i = 0; i < COUNT(rlimits); i++) {
        if (strcmp(key, rlimits[i].name) != 0) continue;
        take_number(argument, equals + 1, &rlimits[i].value, (const uint64_t[]){1, MOST_NUMBER});
        struct rlimit now;
        must(getrlimit((resource_number)rlimits[i].resource, &now) == 0, "rlimit");
        if (rlimits[i].value <= now.rlim_max) return;
        if (rlimits[i].resource != RLIMIT_NOFILE) refuse(argument, "is above the hard limit", "at most that");
        rlimits[i].value = now.rlim_max;
        return;
    }
    take_text(argument, key, equals + 1);
}

static void require_descriptor(uint64_t number, const uint64_t *others, size_t count)
{
    TEXT(name, 24);
    add_number(&name, number);
    if (fcntl((int)number, F_GETFD) < 0) refuse(string_of(&name), "is not open", "a descriptor that is");
    for (size_t i = 0; i < count; i++)
        if (others[i] == number) refuse(string_of(&name), "has two uses", "a descriptor of its own for each");
}

/* All descriptors that are used here; the workspace and the status may also be kept, for the next stage. */
size_t list_descriptors(uint64_t *list)
{
    const uint64_t single[] = {plan.status, plan.control, plan.arguments, plan.seccomp, plan.workspace, plan.map,
                               plan.handles, plan.sockets};
    size_t count = 0;
    for (size_t i = 0; i < COUNT(single); i++)
        if (single[i] != 0) list[count++] = single[i];
    for (size_t i = 0; i < plan.cgroup_count; i++) list[count++] = plan.cgroups[i];
    for (size_t i = 0; i < plan.kept_count; i++)
        if (plan.kept[i] != plan.workspace && !(plan.exec_in_place && plan.kept[i] == plan.status))
            list[count++] = plan.kept[i];
    return count;
}

/* The next stage reports the outcome; until then only failures are reported. */
bool is_status_left(void)
{
    for (size_t i = 0; i < plan.kept_count; i++)
        if (plan.kept[i] == plan.status) return true;
    return false;
}

static void require_consistent_network(void)
{
    if (plan.listener_count > 0 && plan.net == 0)
        refuse("listen", "needs net=1", "both");
    if ((plan.listener_count > 0) != (plan.handles != 0))
        refuse("listen", "and handles need each other", "both or none");
    /* Any other socket would deliver the number of a listener and drop the listener. */
    if (plan.handles != 0 && !is_unix_stream((int)plan.handles))
        refuse("handles", "is not a unix stream socket", "one that passes descriptors");
    if ((plan.port_count > 0) != (plan.sockets != 0)) refuse("port", "and sockets need each other", "both or none");
    if (plan.sockets != 0 && plan.control == 0) refuse("sockets", "needs control, where they are asked for", "both");
    if (plan.sockets != 0 && !is_unix_stream((int)plan.sockets))
        refuse("sockets", "is not a unix stream socket", "one that passes descriptors");
}

static void require_consistent_plan(void)
{
    uint64_t list[MAX_LISTED];
    size_t count = list_descriptors(list);
    for (size_t i = 0; i < count; i++) require_descriptor(list[i], list, i);
    if (plan.exec_in_place && (plan.cpu_ms | plan.wall_ms | plan.output | plan.control | plan.arguments | plan.ns) != 0)
        refuse("mode=exec", "supervises nothing", "no cpums, wallms, output, control, words or ns");
    if (plan.exec_in_place && plan.held_count > 0)
        refuse("mode=exec", "compares no files", "no same, program or script");
    if (plan.cut != 0 && plan.output == 0) refuse("cut", "needs output", "both");
    if (plan.flood != 0 && plan.cut == 0) refuse("flood", "needs cut=1", "both");
    if (plan.own_count > 0 && plan.connects == 0) refuse("own", "needs connects=1", "both");
    if ((plan.uid == 0) != (plan.gid == 0)) refuse("uid", "and gid need each other", "both or none");
    if ((plan.workspace == 0) != !(plan.has_owner || plan.map != 0))
        refuse("workspace", "and owner need each other", "both or none");
    if (plan.workspace != 0 && plan.uid == 0) refuse("workspace", "needs uid and gid", "both with it");
    if (plan.chdir != 0 && plan.workspace == 0) refuse("chdir=1", "needs a directory", "workspace with it");
    if (plan.uid != 0 && geteuid() != 0) refuse("uid", "can be changed only by root", "no uid and no gid");
    require_consistent_network();
}

static void take_command(int count, char **arguments, int at)
{
    if (at + 2 >= count) refuse("--", "is missing or has too little after it", "-- FILE ARGV0 [ARG...] at the end");
    plan.file = arguments[at + 1];
    plan.argv = &arguments[at + 2];
    if (plan.file[0] != '/') refuse(plan.file, "is not an absolute path", "one that begins with /");
}

void read_arguments(int count, char **arguments)
{
    int at = 1;
    argument_count = count;
    all_arguments = arguments;
    for (; at < count && strcmp(arguments[at], "--") != 0; at++) take_argument(arguments[at]);
    if (plan.arguments == 0) take_command(count, arguments, at);
    else if (at != count) refuse("--", "is set although more arguments follow", "the command among those");
    require_consistent_plan();
}

/* Reads what may be set once the sandbox is ready: options of the command. Those of the sandbox would come too late. */
void read_command_arguments(int count, char **arguments)
{
    static const char *const OF_COMMAND[] = {"cpu=",    "data=",   "fsize=",  "nofile=",  "nproc=",  "stack=",
                                             "cpums=",  "wallms=", "output=", "cwd=",     "set=",    "facts=",
                                             "ro=",     "rw=",     "sample=", "expect=",  "differ=", "within=",
                                             "same=",   "program=", "script=", "copies=", "cut=",    "flood="};
    int at = 1;
    for (; at < count && strcmp(arguments[at], "--") != 0; at++) {
        size_t i = 0;
        while (i < COUNT(OF_COMMAND) && strncmp(arguments[at], OF_COMMAND[i], strlen(OF_COMMAND[i])) != 0) i++;
        if (i == COUNT(OF_COMMAND)) refuse(arguments[at], "comes after the sandbox was created", "a key of the command");
        take_argument(arguments[at]);
    }
    take_command(count, arguments, at);
}
