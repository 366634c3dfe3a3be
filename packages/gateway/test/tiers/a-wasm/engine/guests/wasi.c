/* A component that has a tool for each thing that WASI lets it do here. */
#include "guest.h"

#define WASI(place, name) IMPORT("wasi:" place "@0.2.12", name)

typedef struct { uint8_t is_error; union { uint64_t permit; struct { uint8_t tag; uint32_t error; } why; } as; } permitted;
typedef struct { uint8_t is_error; uint8_t tag; uint32_t error; } wrote;
typedef struct { uint8_t is_error; union { text bytes; struct { uint8_t tag; uint32_t error; } why; } as; } was_read;
typedef struct { uint64_t seconds; uint32_t nanoseconds; } datetime;

WASI("cli/stdout", "get-stdout") uint32_t get_stdout(void);
WASI("cli/stderr", "get-stderr") uint32_t get_stderr(void);
WASI("cli/stdin", "get-stdin") uint32_t get_stdin(void);
WASI("cli/environment", "get-environment") void get_environment(text *to);
WASI("cli/environment", "get-arguments") void get_arguments(text *to);
WASI("cli/exit", "exit") void exit_(uint32_t is_error);
WASI("cli/terminal-stdout", "get-terminal-stdout") void get_terminal(uint8_t *to);
WASI("clocks/monotonic-clock", "now") uint64_t monotonic_now(void);
WASI("clocks/monotonic-clock", "subscribe-duration") uint32_t subscribe_duration(uint64_t ns);
WASI("clocks/wall-clock", "now") void wall_now(datetime *to);
WASI("random/random", "get-random-bytes") void random_bytes(uint64_t length, text *to);
WASI("random/random", "get-random-u64") uint64_t random_u64(void);
WASI("random/insecure-seed", "insecure-seed") void insecure_seed(uint64_t to[2]);
WASI("io/poll", "poll") void poll(uint32_t *list, uint32_t count, text *to);
WASI("io/poll", "[method]pollable.block") void block(uint32_t pollable);
WASI("io/poll", "[resource-drop]pollable") void drop_pollable(uint32_t pollable);
WASI("io/streams", "[method]output-stream.check-write") void check_write(uint32_t stream, permitted *to);
WASI("io/streams", "[method]output-stream.write") void write_bytes(uint32_t stream, char *at, uint32_t length, wrote *to);
WASI("io/streams", "[method]output-stream.blocking-flush") void flush(uint32_t stream, wrote *to);
WASI("io/streams", "[method]output-stream.write-zeroes") void write_zeroes(uint32_t stream, uint64_t length, wrote *to);
WASI("io/streams", "[resource-drop]output-stream") void drop_output(uint32_t stream);
WASI("io/streams", "[method]input-stream.blocking-read") void read_bytes(uint32_t stream, uint64_t length, was_read *to);
WASI("io/streams", "[resource-drop]input-stream") void drop_input(uint32_t stream);
WASI("filesystem/preopens", "get-directories") void get_directories(text *to);
WASI("filesystem/types", "[method]descriptor.get-type") void type_of(uint32_t descriptor, uint8_t to[2]);

static void print(uint32_t stream, text t) {
  permitted p; wrote w;
  check_write(stream, &p);
  if (p.is_error || p.as.permit < t.length) __builtin_trap();
  write_bytes(stream, t.at, t.length, &w);
  if (w.is_error) __builtin_trap();
  flush(stream, &w);
}

EXPORT("run") ending *run(char *tool_at, uint32_t tool_length, char *input_at, uint32_t input_length) {
  text tool = { tool_at, tool_length }, input = { input_at, input_length };
  text t; wrote w; was_read r; uint8_t two[2]; uint64_t seed[2]; datetime d;
  read_args(input);
  uint32_t first = (uint32_t)number_of(args[0]);
  if (is(tool, "print")) {
    uint32_t to = get_stdout(), err = get_stderr();
    for (int i = 0; i < 8 && args[i].at != NULL; i += 1) {
      int is_line = args[i].length > 0 && args[i].at[args[i].length - 1] == '$';
      if (is_line) args[i].at[args[i].length - 1] = '\n';
      print(i == 7 ? err : to, args[i]);
    }
    drop_output(to);
    drop_output(err);
    puts_("null");
  } else if (is(tool, "zeroes")) { write_zeroes(get_stdout(), number_of(args[0]), &w); puts_("null"); }
  else if (is(tool, "lines")) {
    char *many = cabi_realloc(NULL, 0, 1, first);
    for (uint32_t i = 0; i < first; i += 1) many[i] = '\n';
    write_bytes(get_stdout(), many, first, &w);
    puts_("null");
  } else if (is(tool, "stdin")) {
    uint32_t from = get_stdin();
    read_bytes(from, 10, &r);
    drop_input(from);
    puts_(r.is_error && r.as.why.tag == 1 ? "\"closed\"" : "\"open\"");
  } else if (is(tool, "nothing")) {
    put('[');
    get_environment(&t); number(t.length); put(',');
    get_arguments(&t); number(t.length); put(',');
    get_directories(&t); number(t.length); put(',');
    get_terminal(two); number(two[0]);
    put(']');
  } else if (is(tool, "clock")) {
    wall_now(&d);
    put('['); number(monotonic_now()); put(','); number(d.seconds); put(','); number(d.nanoseconds); put(']');
  } else if (is(tool, "wait")) {
    uint32_t waits[2] = { subscribe_duration(1000000000000ull), subscribe_duration(0) };
    block(waits[0]);
    poll(waits, 2, &t);
    drop_pollable(waits[0]);
    number(t.length);
  } else if (is(tool, "random")) {
    random_bytes(number_of(args[0]), &t);
    insecure_seed(seed);
    put('['); number(t.length); put(','); put('"'); number(random_u64()); put('"'); put(','); put('"'); number(seed[0]); put('"'); put(']');
  } else if (is(tool, "exit")) { print(get_stdout(), text_of("bye")); exit_(first); }
  else if (is(tool, "panic")) { print(get_stderr(), text_of("it panics")); __builtin_trap(); }
  else if (is(tool, "forged-file")) { type_of(first, two); puts_("null"); }
  else if (is(tool, "forged-write")) { write_bytes(first, "forged\n", 7, &w); puts_("null"); }
  else if (is(tool, "forged-read")) { read_bytes(first, 1, &r); puts_("null"); }
  else if (is(tool, "forged-block")) { block(first); puts_("null"); }
  else return failed("not-found", "there is no such tool");
  return returned();
}
