#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proc.h"
#include "report.h"

const char *path_of(struct text *path, pid_t process, const char *name)
{
    path->length = 0;
    add(path, "/proc/");
    add_number(path, (uint64_t)process);
    add_byte(path, '/');
    add(path, name);
    return string_of(path);
}

static struct {
    int file;
    size_t start, end;
    bool cut;
    char bytes[16384];
} reader;

void read_from(int file)
{
    reader.file = file;
    reader.start = reader.end = 0;
    reader.cut = false;
}

/* The next line without its newline, or NULL. A line that is longer than the buffer is truncated. */
char *next_line(void)
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

/* The next field of a line, terminated in place; an empty one at the end. */
char *next_word(char **line)
{
    char *word = *line + strspn(*line, " \t");
    char *end = word + strcspn(word, " \t");
    *line = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

/* Opens /proc/PID/NAME, or /proc/PID/task/TID/NAME where there is a thread. */
int open_of(pid_t process, uint64_t thread, const char *name, int flags)
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

bool look_at(pid_t process, struct process_stat *stat_of)
{
    char bytes[1024];
    int file = open_of(process, 0, "stat", 0);
    if (file < 0) return false;
    ssize_t length = read(file, bytes, sizeof bytes - 1);
    (void)close(file);
    if (length <= 0) return false;
    bytes[length] = '\0';
    /* Boundary: the command chooses its name, which may contain spaces and brackets; nothing after it does. */
    char *line = strrchr(bytes, ')');
    if (line == NULL) return false;
    line += 1;
    uint64_t fields[23] = {0};
    /* 4 is the parent, 14 to 17 are the times, 22 is when it began. Others may be negative, and are not read. */
    for (int field = 3; field <= 22; field++) {
        const char *word = next_word(&line);
        if (field != 4 && field != 22 && (field < 14 || field > 17)) continue;
        if (!read_number(word, 0, INT64_MAX, &fields[field])) return false;
    }
    *stat_of = (struct process_stat){(pid_t)fields[4], fields[22], fields[14] + fields[15], fields[16] + fields[17]};
    return true;
}

uint64_t microseconds_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

uint64_t now_us(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock");
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
