/* The starter: forks a launcher for each request of the gateway, and ends all of them when the requests end. */
#pragma once

#include "launcher.h"
#include "text.h"

enum {
    /* The standard streams and as many more as a run may keep. */
    MAX_RUN_DESCRIPTORS = MAX_DESCRIPTORS + 3,
    MAX_RUNS = 256,
};

/*
 * What a run passes to the gateway through the starter: the listeners that it creates before its command starts, and
 * while it runs the sockets that the gateway asks for. Each comes over a socket of its own, -1 after the last one.
 */
enum channel_kind { LISTENERS, SOCKETS, CHANNELS };
struct channel {
    int from;
    size_t count;
};

/*
 * A forked launcher: its process until it is waited for, the pipe ends for the gateway until the gateway has taken them,
 * and its channels.
 */
struct served {
    uint64_t id;
    pid_t process;
    size_t end_count;
    int ends[MAX_RUN_DESCRIPTORS];
    struct channel channels[CHANNELS];
};
extern struct served served[MAX_RUNS];

/* A start request with its descriptors opened. */
enum { NOT_HELD = -1 };
struct start {
    uint64_t id;
    size_t descriptor_count, end_count;
    int descriptors[MAX_RUN_DESCRIPTORS], ends[MAX_RUN_DESCRIPTORS], channels[CHANNELS];
    /* How a descriptor of the gateway is to be opened; NOT_HELD for all others. */
    int access[MAX_RUN_DESCRIPTORS];
    const char *bytes;
    size_t byte_count;
};

struct service {
    int requests, handles;
    pid_t gateway;
    size_t held;
};
extern struct service service;

/*
 * What is being sent. The gateway is Node, whose IPC channel receives a descriptor with a line of JSON and answers each
 * with another line; until then nothing else is sent. A line without a descriptor has no answer. The others wait in
 * their sockets.
 */
struct transfer {
    struct served *of;
    bool is_under_way;
    int file, tries;
    size_t sent, held;
    struct text line;
    char bytes[160], answers[64];
};
extern struct transfer transfer;

_Noreturn void exit_starter(int status);
void require_valid_request(bool is_sound);
void reply(struct text *line);
void begin_reply(struct text *line, const char *what, uint64_t id);
struct served *find_served(uint64_t id);
void take_ends(struct served *each);
void kill_served(const struct served *each);
_Noreturn void serve_requests(int count, char **arguments);

/* starter-descriptors.c: the descriptors of a run. Each function returns -1 and sets errno if it fails. */
int open_held(int held, int access);
int open_descriptor(char *argument, struct start *start, const char **step);

/* starter-requests.c: the requests of the gateway. */
void take_frame(char *frame, size_t length);

/* starter-handles.c: listeners and sockets, which the launchers send and the starter forwards to the gateway. */
void close_channels(struct served *each);
void send_handle(void);
void read_answers(void);
void take_handle_of(struct served *each, enum channel_kind kind);
