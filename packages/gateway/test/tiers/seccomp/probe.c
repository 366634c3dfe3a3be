/*
 * Does raw system calls under a seccomp program and says how each ended.
 *
 *   probe PROGRAM calls < LINES     a call per line: NUMBER ARG...; prints "errno N" (0 is success) or "signal N"
 *   probe PROGRAM reach DIR         whether one end of a socket pair reaches a socket bound in DIR
 *   probe PROGRAM exec FILE ARG...  runs a program
 *
 * PROGRAM is a file with an array of struct sock_filter, or "-" for none. An ARG is a number, s:TEXT (a pointer to the
 * text) or x:HEX (a pointer to 4096 bytes that begin so). The line "int80" is a 32-bit call, where there is such a thing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_INSTALLED = 250, WRONG_USE = 251 };

static struct sock_filter instructions[4096];
static unsigned short count;

static void read_program(const char *path) {
  if (strcmp(path, "-") == 0) return;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, instructions, sizeof instructions);
  if (got <= 0) exit(WRONG_USE);
  count = (unsigned short)((size_t)got / sizeof instructions[0]);
  close(fd);
}

static void install(void) {
  if (count == 0) return;
  struct sock_fprog program = {.len = count, .filter = instructions};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(NOT_INSTALLED);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) _exit(NOT_INSTALLED);
}

static long argument(char *word) {
  static char room[6][4096];
  static int used;
  if (strncmp(word, "s:", 2) == 0) return (long)(word + 2);
  if (strncmp(word, "x:", 2) != 0) return (long)strtoull(word, NULL, 0);
  char *bytes = room[used++];
  for (size_t i = 0; word[2 + 2 * i] != '\0'; i++) {
    unsigned value;
    if (sscanf(word + 2 + 2 * i, "%2x", &value) != 1) exit(WRONG_USE);
    bytes[i] = (char)value;
  }
  return (long)bytes;
}

static int int80(void) {
#ifdef __x86_64__
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
  return result > 0 ? 0 : WRONG_USE;
#else
  return WRONG_USE;
#endif
}

/* In a process of its own, and without a terminal, so that nothing it does lasts. */
static void do_call(char *line) {
  long words[7] = {0};
  int number = 0;
  int is_int80 = strcmp(line, "int80") == 0;
  for (char *word = strtok(line, " "); !is_int80 && word != NULL && number < 7; word = strtok(NULL, " "))
    words[number++] = argument(word);
  setsid();
  install();
  if (is_int80) _exit(int80());
  long result = syscall(words[0], words[1], words[2], words[3], words[4], words[5], words[6]);
  _exit(result == -1 ? errno : 0);
}

static int calls(void) {
  char line[8192];
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return WRONG_USE;
    if (child == 0) do_call(line);
    int status;
    if (waitpid(child, &status, 0) != child) return WRONG_USE;
    if (WIFSIGNALED(status)) printf("signal %d\n", WTERMSIG(status));
    else printf("errno %d\n", WEXITSTATUS(status));
  }
  return 0;
}

static int bound(const char *directory, const char *name, int type, struct sockaddr_un *address) {
  address->sun_family = AF_UNIX;
  snprintf(address->sun_path, sizeof address->sun_path, "%s/%s", directory, name);
  int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) != 0) exit(WRONG_USE);
  if (type != SOCK_DGRAM && listen(fd, 1) != 0) exit(WRONG_USE);
  return fd;
}

/* The listeners are there before the filter, as those of a host would be. */
static int reach(const char *directory) {
  const struct { const char *name; int listener, pair; } ways[] = {
    {"datagram", SOCK_DGRAM, SOCK_DGRAM},
    {"raw", SOCK_DGRAM, SOCK_RAW},
    {"stream", SOCK_STREAM, SOCK_STREAM},
    {"seqpacket", SOCK_SEQPACKET, SOCK_SEQPACKET},
  };
  struct sockaddr_un to[4] = {0};
  int listeners[4];
  for (int i = 0; i < 4; i++) listeners[i] = bound(directory, ways[i].name, ways[i].listener, &to[i]);
  install();
  for (int i = 0; i < 4; i++) {
    int pair[2];
    char byte;
    int made = socketpair(AF_UNIX, ways[i].pair, 0, pair) == 0;
    if (made && connect(pair[0], (struct sockaddr *)&to[i], sizeof to[i]) == 0) send(pair[0], "!", 1, 0);
    int arrived = ways[i].listener == SOCK_DGRAM ? recv(listeners[i], &byte, 1, 0) == 1
                                                 : accept(listeners[i], NULL, NULL) >= 0;
    printf("%s: %s, %s\n", ways[i].name, made ? "a pair" : "no pair", arrived ? "reached" : "not reached");
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return WRONG_USE;
  read_program(argv[1]);
  if (strcmp(argv[2], "calls") == 0) return calls();
  if (strcmp(argv[2], "reach") == 0 && argc == 4) return reach(argv[3]);
  if (strcmp(argv[2], "exec") != 0 || argc < 4) return WRONG_USE;
  install();
  execvp(argv[3], argv + 3);
  perror(argv[3]);
  return 127;
}
