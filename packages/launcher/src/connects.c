#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "connects.h"
#include "descriptors.h"
#include "kernel.h"
#include "network.h"
#include "options.h"
#include "proc.h"
#include "report.h"
#include "signals.h"
#include "targets.h"

enum {
    /* Callers that wait at once; another one is told to try again. */
    MAX_WAITING = 64,
    RETRY_MS = 5,
};

/* A connect that is being made for a caller. */
struct request {
    uint64_t id;
    /* The socket, and for a Unix socket with a path the one that it is to reach; else -1. */
    int file, target;
    bool is_judged;
    socklen_t length;
    struct sockaddr_storage address;
};

int connect_source = -1;
uint64_t outward_connects;
static int handover[2] = {-1, -1};
static struct request waiting[MAX_WAITING];
static size_t waiting_count;

/* The pair over which the command's process hands the source over. */
void open_connects(void)
{
    if (plan.connects == 0) return;
    look_at_own();
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, handover) == 0, "connects");
}

/* In the command's process: from here on the supervisor connects, and no socket can be taken out of another process. */
void send_connects(void)
{
    if (plan.connects == 0) return;
    /* Calls of other architectures do not get here: the filter of the sandbox ends them. */
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NR_pidfd_getfd, 2, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = {COUNT(filter), filter};
    close_one(&handover[0]);
    /* What only the supervisor needs: in its place there is room for the source, also below a low limit of open files. */
    close_one(&signal_source);
    const unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | FILTER_WAIT_KILLABLE;
    int source = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    must(source >= 0, "connects");
    must(send_with(handover[1], "c", 1, source) == 1, "connects");
    (void)close(source);
    close_both(handover);
}

/* In the supervisor. Nothing arrives if the command's process failed before; it has reported that itself. */
void receive_connects(void)
{
    char byte;
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (plan.connects == 0) return;
    close_one(&handover[1]);
    ssize_t count;
    do count = recvmsg(handover[0], &message, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    close_one(&handover[0]);
    if (count == 0) return;
    const struct cmsghdr *header = count < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS) fail("connects", EBADMSG);
    memcpy(&connect_source, CMSG_DATA(header), sizeof connect_source);
    /* The caller sleeps until it is answered, so its processor is handed over at once; before Linux 6.6 it is not. */
    (void)ioctl(connect_source, (ioctl_number)NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP);
}

static bool is_alive(uint64_t id)
{
    return ioctl(connect_source, (ioctl_number)SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static void answer(uint64_t id, int error)
{
    struct seccomp_notif_resp response = {.id = id, .error = -error};
    /* It fails if the caller has been killed. */
    (void)ioctl(connect_source, (ioctl_number)SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void forget(struct request *request)
{
    close_one(&request->file);
    close_one(&request->target);
}

static pid_t group_of(pid_t thread)
{
    uint64_t group = 0;
    int file = open_of(thread, 0, "status", 0);
    if (file < 0) return 0;
    read_from(file);
    for (char *line; group == 0 && (line = next_line()) != NULL;)
        if (strcmp(next_word(&line), "Tgid:") == 0) (void)read_number(next_word(&line), 1, INT32_MAX, &group);
    (void)close(file);
    return (pid_t)group;
}

/* Takes the socket out of the caller. Whichever is in its place at this moment is the one that is connected. */
static int take_file(pid_t caller, int number)
{
    int process = (int)syscall(NR_pidfd_open, caller, PIDFD_OF_THREAD);
    /* Before Linux 6.9 only of a whole process, whose descriptors its threads share. */
    if (process < 0 && errno == EINVAL) process = (int)syscall(NR_pidfd_open, group_of(caller), 0);
    if (process < 0) return -1;
    int file = (int)syscall(NR_pidfd_getfd, process, number, 0);
    int error = errno;
    (void)close(process);
    errno = error;
    return file;
}

static int copy_address(struct request *request, pid_t caller, uint64_t from)
{
    if (request->length == 0) return 0;
    int memory = open_of(caller, 0, "mem", 0);
    if (memory < 0) return EACCES;
    ssize_t count = pread(memory, &request->address, request->length, (off_t)from);
    (void)close(memory);
    return count == (ssize_t)request->length ? 0 : EFAULT;
}

/* Takes a step for a caller: an error number, 0 when it is connected, or WAIT. */
static int proceed(struct request *request)
{
    if (request->target < 0) return connect_now(request->file, &request->address, request->length);
    int error = request->is_judged ? 0 : judge_target(request->file, request->target);
    if (error != 0) return error;
    request->is_judged = true;
    return connect_to(request->file, request->target);
}

/* Reads where a Unix socket is to go; a name without a path is of the network, which is that of the run. */
static int aim(struct request *request, pid_t caller)
{
    struct sockaddr_un address;
    char path[sizeof address.sun_path + 1] = {0};
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(request->file, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return errno;
    /* Boundary: a datagram can name its receiver without a connect; the filter allows no such socket. */
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET) return EACCES;
    if (request->length <= offsetof(struct sockaddr_un, sun_path) || request->length > sizeof address) return EINVAL;
    memcpy(&address, &request->address, request->length);
    if (address.sun_family != AF_UNIX) return EINVAL;
    if (address.sun_path[0] == '\0') return 0;
    memcpy(path, address.sun_path, request->length - offsetof(struct sockaddr_un, sun_path));
    request->target = open_target(caller, path);
    return request->target < 0 ? errno : 0;
}

/* Whether an address is one of another machine, or that of a name server, which a run does not have. */
static bool is_outward(const struct sockaddr_storage *address)
{
    enum { DNS_PORT = 53 };
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    memcpy(&four, address, sizeof four);
    memcpy(&six, address, sizeof six);
    if (four.sin_family == AF_INET) {
        uint32_t host = ntohl(four.sin_addr.s_addr);
        return four.sin_port == htons(DNS_PORT) || (host != INADDR_ANY && host >> 24 != IN_LOOPBACKNET);
    }
    if (six.sin6_family != AF_INET6) return false;
    bool is_own = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr) ||
                  (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) && six.sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
    return six.sin6_port == htons(DNS_PORT) || !is_own;
}

/* Takes everything from the caller that is needed, once. */
static int take(struct request *request, const struct seccomp_notif *asked)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    pid_t caller = (pid_t)asked->pid;
    if ((int)asked->data.args[2] < 0 || (uint32_t)asked->data.args[2] > sizeof request->address) return EINVAL;
    request->length = (socklen_t)asked->data.args[2];
    request->file = take_file(caller, (int)asked->data.args[0]);
    if (request->file < 0) return errno == EBADF ? EBADF : EACCES;
    if (getsockopt(request->file, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return errno;
    int error = copy_address(request, caller, asked->data.args[1]);
    if (error == 0 && domain == AF_UNIX) error = aim(request, caller);
    else if (error == 0 && is_outward(&request->address)) outward_connects += 1;
    return error;
}

static void answer_one(void)
{
    union {
        struct seccomp_notif asked;
        char room[512];
    } frame = {.room = {0}};
    /* It does not block: only this process takes them, and poll has seen one. It may be gone. */
    if (ioctl(connect_source, (ioctl_number)SECCOMP_IOCTL_NOTIF_RECV, &frame.asked) != 0) return;
    struct request request = {.id = frame.asked.id, .file = -1, .target = -1};
    int error = take(&request, &frame.asked);
    /* Boundary: of a caller that has ended, its number and all that was taken by it may be another's. */
    if (!is_alive(request.id)) {
        forget(&request);
        return;
    }
    if (error == 0) error = proceed(&request);
    if (error == WAIT && waiting_count == MAX_WAITING) error = EAGAIN;
    if (error == WAIT) {
        waiting[waiting_count++] = request;
        return;
    }
    answer(request.id, error);
    forget(&request);
}

void answer_connects(short events)
{
    if ((events & POLLIN) != 0) answer_one();
    /* No process with the filter is left. */
    else if (events != 0) close_one(&connect_source);
}

/* Tries again for those that wait; returns how long the next wait may be, in ms, or -1. */
int retry_connects(int timeout)
{
    for (size_t i = 0; i < waiting_count;) {
        struct request *request = &waiting[i];
        bool is_gone = !is_alive(request->id);
        int error = is_gone ? EINTR : proceed(request);
        if (error == WAIT) {
            i++;
            continue;
        }
        if (!is_gone) answer(request->id, error);
        forget(request);
        *request = waiting[--waiting_count];
    }
    if (waiting_count == 0) return timeout;
    return timeout < 0 || timeout > RETRY_MS ? RETRY_MS : timeout;
}
