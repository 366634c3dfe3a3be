/* A component that has one tool for each function of the world `skill`, and gives back what it was told. */
#include "guest.h"

#define SKILL(place, name) IMPORT("palisade:skill/" place "@1.0.0", name)

typedef struct { uint8_t is_error; union { uint8_t error; uint32_t value; text bytes; } as; } answer;
typedef struct { uint8_t is_error; uint8_t error; } done;
typedef struct { uint8_t is_error; union { uint8_t error; struct { uint64_t version; text value; } entry; } as; } stored;
typedef struct { uint8_t is_error; union { uint8_t error; struct { text sender, body; } message; } as; } received;
typedef struct { text name, value; } header;
typedef struct {
  uint8_t is_error;
  union { uint8_t error; struct { uint16_t status; text url; header *headers; uint32_t count; text body; } response; } as;
} responded;

SKILL("capabilities", "count") uint32_t count(uint32_t kind);
SKILL("capabilities", "handle") void handle(uint32_t kind, uint32_t index, answer *to);
SKILL("http", "send") void send(uint32_t handle, char *method, uint32_t method_length, char *url, uint32_t url_length,
  header *headers, uint32_t count, char *body, uint32_t body_length, uint32_t has_secret, uint32_t secret,
  char *header_name, uint32_t header_length, char *format, uint32_t format_length, responded *to);
SKILL("secrets", "read") void read_secret(uint32_t handle, answer *to);
SKILL("storage", "get") void get(uint32_t handle, char *key, uint32_t length, stored *to);
SKILL("storage", "put") void put_value(uint32_t handle, char *key, uint32_t length, char *value, uint32_t value_length,
  uint32_t condition, uint64_t version, done *to);
SKILL("storage", "delete") void delete(uint32_t handle, char *key, uint32_t length, uint32_t has, uint64_t version, done *to);
SKILL("storage", "keys") void keys(uint32_t handle, char *prefix, uint32_t prefix_length, char *after,
  uint32_t after_length, uint32_t limit, answer *to);
SKILL("channels", "publish") void publish(uint32_t handle, char *message, uint32_t length, done *to);
SKILL("channels", "receive") void receive(uint32_t handle, uint32_t wait_ms, received *to);
SKILL("log", "write") void write_line(uint32_t level, char *line, uint32_t length);
SKILL("clock", "now-ms") double now_ms(void);
SKILL("random", "bytes") void random_bytes(uint32_t length, text *to);
SKILL("config", "get") void config(char *key, uint32_t length, answer *to);

static void error(uint8_t code) { puts_("{\"error\":"); number(code); put('}'); }
static void told(done d) { if (d.is_error) error(d.error); else puts_("null"); }
static uint32_t n(int index) { return (uint32_t)number_of(args[index]); }

static void tell_response(responded *r) {
  if (r->is_error) { error(r->as.error); return; }
  puts_("{\"status\":"); number(r->as.response.status);
  puts_(",\"url\":"); quoted(r->as.response.url);
  puts_(",\"headers\":"); number(r->as.response.count);
  puts_(",\"first\":"); quoted(r->as.response.count == 0 ? text_of("") : r->as.response.headers[0].name);
  puts_(",\"body\":"); quoted(r->as.response.body);
  put('}');
}

static void tell_keys(answer *a) {
  if (a->is_error) { error(a->as.error); return; }
  put('[');
  for (uint32_t i = 0; i < a->as.bytes.length; i += 1) {
    if (i > 0) put(',');
    quoted(((text *)a->as.bytes.at)[i]);
  }
  put(']');
}

EXPORT("run") ending *run(char *tool_at, uint32_t tool_length, char *input_at, uint32_t input_length) {
  text tool = { tool_at, tool_length }, input = { input_at, input_length };
  answer a; done d; stored s; received m; responded r; text t;
  read_args(input);
  if (is(tool, "count")) number(count(n(0)));
  else if (is(tool, "handle")) {
    handle(n(0), n(1), &a);
    if (a.is_error) error(a.as.error); else number(a.as.value);
  } else if (is(tool, "send")) {
    header accept = { text_of("accept"), text_of("text/plain") };
    send(n(0), args[1].at, args[1].length, args[2].at, args[2].length, &accept, 1, args[3].at, args[3].length,
      args[4].length > 0, n(4), args[5].at, args[5].length, args[6].at, args[6].length, &r);
    tell_response(&r);
  } else if (is(tool, "read")) {
    read_secret(n(0), &a);
    if (a.is_error) error(a.as.error); else quoted(a.as.bytes);
  } else if (is(tool, "get")) {
    get(n(0), args[1].at, args[1].length, &s);
    if (s.is_error) error(s.as.error);
    else { puts_("{\"version\":"); number(s.as.entry.version); puts_(",\"value\":"); quoted(s.as.entry.value); put('}'); }
  } else if (is(tool, "put")) {
    put_value(n(0), args[1].at, args[1].length, args[2].at, args[2].length, n(3), number_of(args[4]), &d);
    told(d);
  } else if (is(tool, "delete")) {
    delete(n(0), args[1].at, args[1].length, args[2].length > 0, number_of(args[2]), &d);
    told(d);
  } else if (is(tool, "keys")) {
    keys(n(0), args[1].at, args[1].length, args[2].at, args[2].length, n(3), &a);
    tell_keys(&a);
  } else if (is(tool, "publish")) { publish(n(0), args[1].at, args[1].length, &d); told(d); }
  else if (is(tool, "receive")) {
    receive(n(0), n(1), &m);
    if (m.is_error) error(m.as.error);
    else { puts_("{\"sender\":"); quoted(m.as.message.sender); puts_(",\"body\":"); quoted(m.as.message.body); put('}'); }
  } else if (is(tool, "log")) { write_line(n(0), args[1].at, args[1].length); puts_("null"); }
  else if (is(tool, "clock")) number((uint64_t)now_ms());
  else if (is(tool, "random")) {
    random_bytes(n(0), &t);
    put('[');
    for (uint32_t i = 0; i < t.length; i += 1) { if (i > 0) put(','); number((uint8_t)t.at[i]); }
    put(']');
  } else if (is(tool, "config")) {
    config(args[0].at, args[0].length, &a);
    if (a.is_error) quoted(a.as.bytes); else puts_("null");
  } else if (is(tool, "echo")) return end.value = input, &end;
  else if (is(tool, "long")) { for (uint32_t i = 0; i < n(0); i += 1) put('1'); }
  else if (is(tool, "trap")) __builtin_trap();
  else if (is(tool, "loop")) for (volatile int i = 0;;) i += 1;
  else return failed("not-found", "there is no such tool");
  return returned();
}
