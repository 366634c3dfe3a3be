#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mounts.h"
#include "proc.h"
#include "report.h"

static bool is_read_only(const char *options)
{
    return strncmp(options, "ro", 2) == 0 && (options[2] == ',' || options[2] == '\0');
}

/*
 * The next line of the file that is being read: id, parent, device, root, mount point, options, optional fields, "-",
 * type, source, super options.
 */
bool next_mount(struct mount_line *mount)
{
    char *line = next_line(), *word;
    if (line == NULL) return false;
    for (int i = 0; i < 2; i++) (void)next_word(&line);
    mount->device = next_word(&line);
    (void)next_word(&line);
    mount->point = next_word(&line);
    const char *options = next_word(&line);
    while (*(word = next_word(&line)) != '\0' && strcmp(word, "-") != 0) continue;
    mount->type = next_word(&line);
    (void)next_word(&line);
    mount->is_read_only = is_read_only(options) || is_read_only(next_word(&line));
    return true;
}

static const char *path_of_point(const char *point)
{
    static char bytes[PATH_MAX];
    struct text path = {bytes, sizeof bytes, 0};
    for (; *point != '\0'; point++) {
        if (point[0] == '\\' && point[1] != '\0' && point[2] != '\0' && point[3] != '\0') {
            add_byte(&path, (char)((point[1] - '0') * 64 + (point[2] - '0') * 8 + (point[3] - '0')));
            point += 3;
        } else {
            add_byte(&path, *point);
        }
    }
    return string_of(&path);
}

/* Whether a mount of control groups is what its path leads to, and not covered by another mount. */
bool is_open_group(const struct mount_line *mount)
{
    struct stat status;
    TEXT(device, 32);
    if (strcmp(mount->type, "cgroup") != 0 && strcmp(mount->type, "cgroup2") != 0) return false;
    if (stat(path_of_point(mount->point), &status) != 0) return false;
    add_number(&device, major(status.st_dev));
    add_byte(&device, ':');
    add_number(&device, minor(status.st_dev));
    return strcmp(string_of(&device), mount->device) == 0;
}

/*
 * Boundary: the group of a run may belong to the command's own user, who could raise its limits or leave it. In the new
 * mount namespace all groups are read-only.
 */
void close_groups(void)
{
    struct mount_line line;
    int file = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    must(file >= 0, "cgroup-files");
    read_from(file);
    while (next_mount(&line)) {
        if (line.is_read_only || !is_open_group(&line)) continue;
        /* Without flags that the mount already has, the kernel refuses. */
        unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
        must(mount(NULL, path_of_point(line.point), NULL, flags, NULL) == 0, "cgroup-files");
    }
    (void)close(file);
}
