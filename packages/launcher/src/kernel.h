/* Numbers and structures of the kernel that the headers of glibc 2.31 lack; x86-64 and arm64 have the same numbers. */
#pragma once

#include <stdint.h>
#include <sys/resource.h>

/* The C libraries declare these parameters with different types. */
#ifdef __GLIBC__
typedef __rlimit_resource_t resource_number;
typedef unsigned long ioctl_number;
#else
typedef int resource_number;
typedef int ioctl_number;
#endif

enum {
    NR_pidfd_send_signal = 424,
    NR_open_tree = 428,
    NR_move_mount = 429,
    NR_pidfd_open = 434,
    NR_close_range = 436,
    NR_pidfd_getfd = 438,
    NR_mount_setattr = 442,
    NR_landlock_create_ruleset = 444,
    NR_landlock_add_rule = 445,
    NR_landlock_restrict_self = 446,
};
/* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV and PIDFD_THREAD. */
enum { FILTER_WAIT_KILLABLE = 1 << 5, PIDFD_OF_THREAD = 0200 };
/* SECCOMP_IOCTL_NOTIF_SET_FLAGS, which is _IOW('!', 4, uint64_t), and SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP. */
#define NOTIF_SET_FLAGS 0x40082104UL
enum { NOTIF_SYNC_WAKE_UP = 1 };
enum { MEMFD_NOEXEC_SEAL = 8, MEMFD_EXEC = 16 };
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
