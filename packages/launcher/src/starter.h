/* The starter: forks a launcher for each request of the gateway, and ends all of them when the requests end. */
#pragma once

#include "launcher.h"
#include "text.h"

enum {
    /* The standard streams and as many as a run may keep. */
    MAX_RUN_DESCRIPTORS = MAX_DESCRIPTORS + 3,
    MAX_RUNS = 256,
};

/*
 * One that was forked: its process until that is waited for, the gateway's ends until those are taken, and where its
 * listeners come from, which is -1 when no more do.
 */
struct served {
    uint64_t id;
    pid_t process;
    size_t end_count, listener_count;
    int ends[MAX_RUN_DESCRIPTORS], handles;
};
extern struct served served[MAX_RUNS];

/* What a request asks for, opened. */
enum { NOT_HELD = -1 };
struct start {
    uint64_t id;
    size_t given_count, end_count;
    int given[MAX_RUN_DESCRIPTORS], ends[MAX_RUN_DESCRIPTORS], handles;
    /* How a descriptor of the gateway's is to be opened; NOT_HELD for all others. */
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
 * The one that is on its way. The gateway is Node, whose channel between processes takes a line of JSON with a
 * descriptor and answers each with another line; until then no second one is sent. Those that wait do so in their sockets.
 */
struct passing {
    struct served *of;
    int server, tries;
    size_t sent, held;
    struct text line;
    char bytes[160], answers[64];
};
extern struct passing passing;

_Noreturn void leave(int status);
void require_valid_request(bool is_sound);
void reply(struct text *line);
void begin_reply(struct text *line, const char *what, uint64_t id);
struct served *find_served(uint64_t id);
void take_ends(struct served *each);
void kill_served(const struct served *each);
_Noreturn void serve_requests(int count, char **words);

/* starter-descriptors.c: what a run is given. Each gives -1 and errno when it cannot. */
int open_held(int held, int access);
int open_descriptor(char *word, struct start *start, const char **step);

/* starter-requests.c: what the gateway asks for. */
void take_frame(char *frame, size_t length);

/* starter-listeners.c: listeners, which come from the launchers and go on to the gateway. */
void pass_on(void);
void read_answers(void);
void take_listener_of(struct served *each);
