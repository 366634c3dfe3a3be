#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "account.h"
#include "proc.h"
#include "report.h"
#include "tree.h"

/*
 * The kernel adds the time of a process that has ended to that of the process that waited for it. A parent that ignores
 * SIGCHLD, or sets SA_NOCLDWAIT, waits for no child, and their time is gone. So each sample of the tree is compared with
 * the previous one: what a process had used that has vanished since must have been added to its parent; the rest is
 * lost, and is counted here. A process that begins and vanishes between two samples is not seen.
 */
enum {
    MAX_SEEN = 16384,
    MAX_DEPTH = 4000,
    /* The kernel rounds each of the two times that it reports, of the system and of the user, down to a tick of 10 ms. */
    ROUNDING_US = 20000,
};

/* A process in a sample. Its parent is an earlier entry, or -1 for the launcher. */
struct seen {
    pid_t process;
    int parent;
    /* `waited_us` is read before the children are listed, so it includes none that is in the sample. */
    uint64_t start, own_us, waited_us;
    /* The time of vanished children since the last sample, and what of it was not added here, within the rounding. */
    uint64_t vanished_us, owed_us;
};
static struct seen samples[2][MAX_SEEN];
static struct seen *last = samples[0], *next = samples[1];
static int last_count, next_count;
/* Where a process is in the last sample, by its pid. An entry may be of another process. */
static int places[65536];

static uint64_t lost_us, measured_us;
static struct {
    uint64_t waited_us, owed_us;
} self;
/* The same for vanished processes whose parent has vanished too, which any process above them may have waited for. */
static uint64_t adrift_owed_us;

static uint64_t waited_us(void)
{
    struct rusage waited;
    must(getrusage(RUSAGE_CHILDREN, &waited) == 0, "usage");
    return microseconds_of(waited.ru_utime) + microseconds_of(waited.ru_stime);
}

static uint64_t us_of_ticks(uint64_t ticks)
{
    return ticks * (1000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The time of a process itself: that of its first thread is exact, and refines the rounded time of all its threads. */
static uint64_t own_us(pid_t process, uint64_t ticks)
{
    char bytes[64];
    uint64_t rounded = us_of_ticks(ticks), exact = 0;
    int file = open_of(process, 0, "schedstat", 0);
    ssize_t length = file < 0 ? -1 : read(file, bytes, sizeof bytes);
    if (file >= 0) (void)close(file);
    for (ssize_t i = 0; i < length && bytes[i] >= '0' && bytes[i] <= '9'; i++)
        exact = exact * 10 + (uint64_t)(bytes[i] - '0');
    exact /= 1000;
    if (exact < rounded) return rounded;
    return exact > rounded + ROUNDING_US ? rounded + ROUNDING_US : exact;
}

/* Sets off what must have been added against what was; returns what was added beyond that. */
static uint64_t settle(uint64_t *owed, uint64_t due, uint64_t added)
{
    *owed += due;
    uint64_t paid = *owed < added ? *owed : added;
    *owed -= paid;
    return added - paid;
}

static void lose_beyond(uint64_t *owed, uint64_t rounding)
{
    if (*owed <= rounding) return;
    lost_us += *owed - rounding;
    *owed = rounding;
}

/* Children come after their parents: from the last one on, each is found gone before the time of its parent is read. */
static void settle_vanished(void)
{
    uint64_t adrift = 0, vanished = 0, surplus = 0, living = 1;
    for (int i = last_count - 1; i >= 0; i--) {
        struct seen *each = &last[i];
        struct process_stat now;
        uint64_t *above = each->parent < 0 ? &vanished : &last[each->parent].vanished_us;
        if (look_at(each->process, &now) && now.start == each->start) {
            living += 1;
            surplus += settle(&each->owed_us, each->vanished_us, us_of_ticks(now.waited_ticks) - each->waited_us);
            lose_beyond(&each->owed_us, ROUNDING_US);
            continue;
        }
        *above += each->own_us + each->waited_us;
        adrift += each->vanished_us;
    }
    uint64_t waited = waited_us();
    surplus += settle(&self.owed_us, vanished, waited - self.waited_us);
    lose_beyond(&self.owed_us, ROUNDING_US);
    (void)settle(&adrift_owed_us, adrift, surplus);
    lose_beyond(&adrift_owed_us, ROUNDING_US * living);
}

static uint64_t owed_before(pid_t process, uint64_t start)
{
    int place = places[(uint32_t)process % COUNT(places)];
    if (place >= last_count || last[place].process != process || last[place].start != start) return 0;
    return last[place].owed_us;
}

static uint64_t take_children(pid_t parent, int parent_place, size_t top, int depth)
{
    uint64_t total = 0;
    size_t end = find_children(parent, top);
    for (size_t i = top; i < end && next_count < MAX_SEEN; i++) {
        pid_t process = found_processes[i];
        struct process_stat now;
        if (!look_at(process, &now)) continue;
        int place = next_count++;
        uint64_t own = own_us(process, now.own_ticks), waited = us_of_ticks(now.waited_ticks);
        next[place] = (struct seen){process, parent_place, now.start, own, waited, 0, owed_before(process, now.start)};
        total += own + waited;
        if (depth < MAX_DEPTH) total += take_children(process, place, end, depth + 1);
    }
    return total;
}

/* The time of all processes that live, were waited for, or were seen before they vanished. Never less than before. */
uint64_t tree_cpu_us(void)
{
    settle_vanished();
    next_count = 0;
    self.waited_us = waited_us();
    uint64_t total = self.waited_us + take_children(getpid(), -1, 0, 0) + lost_us;
    struct seen *taken = next;
    next = last;
    last = taken;
    last_count = next_count;
    for (int i = 0; i < last_count; i++) places[(uint32_t)last[i].process % COUNT(places)] = i;
    if (total > measured_us) measured_us = total;
    return measured_us;
}

/* When nothing is left: the time that was seen and that no wait has returned. */
uint64_t close_account(void)
{
    uint64_t waited = waited_us(), beyond = measured_us > waited ? measured_us - waited : 0;
    return beyond > lost_us ? beyond : lost_us;
}
