/* The host functions: as they are imported, and as a tool calls them. */
#ifndef PALISADE_HOST_H
#define PALISADE_HOST_H

#include "json-read.h"
#include "json-write.h"
#include "memory.h"

#define PALISADE_IMPORT(name) __attribute__((import_module("palisade_v1"), import_name(#name))) extern

// imports:begin
PALISADE_IMPORT(capability_count) int32_t palisade_v1_capability_count(int32_t kind);
PALISADE_IMPORT(capability_handle) int32_t palisade_v1_capability_handle(int32_t kind, int32_t index);
PALISADE_IMPORT(result_read) int32_t palisade_v1_result_read(uint8_t *place, uint32_t place_length);
PALISADE_IMPORT(fail) void palisade_v1_fail(const uint8_t *error, uint32_t error_length);
PALISADE_IMPORT(log) void palisade_v1_log(int32_t level, const uint8_t *text, uint32_t text_length);
PALISADE_IMPORT(clock_ms) double palisade_v1_clock_ms(void);
PALISADE_IMPORT(random) void palisade_v1_random(uint8_t *place, uint32_t place_length);
PALISADE_IMPORT(config_get) int32_t palisade_v1_config_get(const uint8_t *key, uint32_t key_length);
PALISADE_IMPORT(http_request)
int32_t palisade_v1_http_request(int32_t handle, const uint8_t *head, uint32_t head_length, const uint8_t *body,
                                 uint32_t body_length);
PALISADE_IMPORT(secret_read) int32_t palisade_v1_secret_read(int32_t handle);
PALISADE_IMPORT(storage_get) int32_t palisade_v1_storage_get(int32_t handle, const uint8_t *key, uint32_t key_length);
PALISADE_IMPORT(storage_put)
int32_t palisade_v1_storage_put(int32_t handle, const uint8_t *key, uint32_t key_length, const uint8_t *value,
                                uint32_t value_length, double version);
PALISADE_IMPORT(storage_delete)
int32_t palisade_v1_storage_delete(int32_t handle, const uint8_t *key, uint32_t key_length, double version);
PALISADE_IMPORT(storage_list)
int32_t palisade_v1_storage_list(int32_t handle, const uint8_t *prefix, uint32_t prefix_length, const uint8_t *after,
                                 uint32_t after_length, int32_t limit);
PALISADE_IMPORT(channel_publish)
int32_t palisade_v1_channel_publish(int32_t handle, const uint8_t *message, uint32_t message_length);
PALISADE_IMPORT(channel_receive) int32_t palisade_v1_channel_receive(int32_t handle, int32_t wait_ms);
// imports:end

/** What a function returns instead of zero or a length. */
enum {
  PALISADE_DENIED = -1,
  PALISADE_MISSING = -2,
  PALISADE_TOO_LARGE = -3,
  PALISADE_FULL = -4,
  PALISADE_CONFLICT = -5,
  PALISADE_INVALID = -6,
  PALISADE_UNAVAILABLE = -7,
  PALISADE_TOO_SLOW = -8,
};

/** The kinds of capabilities. */
enum { PALISADE_HTTP = 1, PALISADE_SECRET = 2, PALISADE_STORAGE = 3, PALISADE_CHANNEL = 4 };

/** How many capabilities of a kind the call has. */
static inline int32_t palisade_count(int32_t kind) {
  return palisade_v1_capability_count(kind);
}

/** The handle of a capability by its position in the grant, or an error. */
static inline int32_t palisade_handle(int32_t kind, int32_t index) {
  return palisade_v1_capability_handle(kind, index);
}

/** The bytes that a function returned, if `error` is zero. */
typedef struct {
  int32_t error;
  palisade_bytes bytes;
} palisade_answer;

/** Fetches an answer by the length that a function returned. */
static inline palisade_answer palisade_fetch(int32_t length) {
  if (length < 0) return (palisade_answer){length, palisade_none};
  uint8_t *const buffer = palisade_alloc((uint32_t)length);
  palisade_v1_result_read(buffer, (uint32_t)length);
  return (palisade_answer){0, {buffer, (uint32_t)length}};
}

/** An answer of two parts, if `error` is zero: a head of JSON and the rest. */
typedef struct {
  int32_t error;
  const palisade_json *head;
  palisade_bytes body;
} palisade_parts;

static inline palisade_parts palisade_fetch_parts(int32_t length) {
  const palisade_answer answer = palisade_fetch(length);
  if (answer.error) return (palisade_parts){answer.error, NULL, palisade_none};
  uint32_t head_length;
  memcpy(&head_length, answer.bytes.at, sizeof head_length);
  const palisade_json *const head = palisade_parse((palisade_bytes){answer.bytes.at + 4, head_length});
  return (palisade_parts){head ? 0 : PALISADE_INVALID, head, palisade_after(answer.bytes, 4 + head_length)};
}

typedef struct {
  palisade_bytes name;
  palisade_bytes value;
} palisade_header;

typedef struct {
  palisade_bytes method;
  palisade_bytes url;
  const palisade_header *headers;
  uint32_t header_count;
  palisade_bytes body;
  /** A handle; the gateway puts the secret into the header in buffer of `{}` in the format. Zero: none. */
  int32_t secret;
  palisade_bytes secret_header;
  palisade_bytes secret_format;
} palisade_request;

static inline palisade_bytes palisade_request_head(const palisade_request *request) {
  palisade_writer head = palisade_write();
  palisade_open(&head, '{');
  palisade_put_text_member(&head, "method", request->method);
  palisade_put_text_member(&head, "url", request->url);
  palisade_put_key(&head, palisade_text("headers"));
  palisade_open(&head, '[');
  for (uint32_t at = 0; at < request->header_count; at++) {
    palisade_open(&head, '[');
    palisade_put_text(&head, request->headers[at].name);
    palisade_put_text(&head, request->headers[at].value);
    palisade_close(&head, ']');
  }
  palisade_close(&head, ']');
  if (request->secret) {
    palisade_put_key(&head, palisade_text("secret"));
    palisade_open(&head, '{');
    palisade_put_int_member(&head, "handle", request->secret);
    palisade_put_text_member(&head, "header", request->secret_header);
    palisade_put_text_member(&head, "format", request->secret_format);
    palisade_close(&head, '}');
  }
  palisade_close(&head, '}');
  return palisade_written(&head);
}

/** Makes a request; the head of the answer has `status`, `headers` (pairs) and `url`. */
static inline palisade_parts palisade_send(int32_t handle, const palisade_request *request) {
  const palisade_bytes head = palisade_request_head(request);
  return palisade_fetch_parts(
      palisade_v1_http_request(handle, head.at, head.length, request->body.at, request->body.length));
}

/** The value of a secret, if its grant lets the guest see it. */
static inline palisade_answer palisade_read_secret(int32_t handle) {
  return palisade_fetch(palisade_v1_secret_read(handle));
}

/** Conditions of a write: always, and only if there is no value. */
static const double palisade_any = -1;
static const double palisade_absent = 0;

/** A value with its version, which is never reused, if `error` is zero. */
typedef struct {
  int32_t error;
  double version;
  palisade_bytes value;
} palisade_stored;

static inline palisade_stored palisade_get_stored(int32_t handle, palisade_bytes key) {
  const palisade_answer answer = palisade_fetch(palisade_v1_storage_get(handle, key.at, key.length));
  palisade_stored stored = {answer.error, 0, palisade_none};
  if (answer.error) return stored;
  memcpy(&stored.version, answer.bytes.at, sizeof stored.version);
  stored.value = palisade_after(answer.bytes, sizeof stored.version);
  return stored;
}

/** Stores a value if the version is this one, or for `palisade_any` or `palisade_absent`. Returns 0 or an error. */
static inline int32_t palisade_put_stored(int32_t handle, palisade_bytes key, palisade_bytes value, double version) {
  return palisade_v1_storage_put(handle, key.at, key.length, value.at, value.length, version);
}

/** Removes a value if the version is this one, or for `palisade_any`. Returns 0 or an error. */
static inline int32_t palisade_delete_stored(int32_t handle, palisade_bytes key, double version) {
  return palisade_v1_storage_delete(handle, key.at, key.length, version);
}

/** A list of at most so many keys at and below a prefix that come after a key; NULL and an error on failure. */
static inline const palisade_json *palisade_list_stored(int32_t handle, palisade_bytes prefix, palisade_bytes after,
                                                        int32_t limit, int32_t *error) {
  const palisade_answer answer = palisade_fetch(
      palisade_v1_storage_list(handle, prefix.at, prefix.length, after.at, after.length, limit));
  *error = answer.error;
  return answer.error ? NULL : palisade_parse(answer.bytes);
}

/** Sends a message to a channel. Returns 0 or an error. */
static inline int32_t palisade_publish(int32_t handle, palisade_bytes message) {
  return palisade_v1_channel_publish(handle, message.at, message.length);
}

/** Waits for the next message, at most so long; the head has `sender` (`principal`, `skill`) and `missed`. */
static inline palisade_parts palisade_receive(int32_t handle, int32_t wait_ms) {
  return palisade_fetch_parts(palisade_v1_channel_receive(handle, wait_ms));
}

enum { PALISADE_DEBUG, PALISADE_INFO, PALISADE_WARNING, PALISADE_ERROR };

/** A line for the log of the call. */
static inline void palisade_log(int32_t level, palisade_bytes text) {
  palisade_v1_log(level, text.at, text.length);
}

/** When the call began, in milliseconds since 1970. It does not advance during the call. */
static inline double palisade_now_ms(void) {
  return palisade_v1_clock_ms();
}

/** Fills a buffer with random bytes. */
static inline void palisade_random(void *buffer, uint32_t length) {
  palisade_v1_random(buffer, length);
}

/** A value of the tool's configuration; the error is PALISADE_MISSING if there is no such key. */
static inline palisade_answer palisade_config(palisade_bytes key) {
  return palisade_fetch(palisade_v1_config_get(key.at, key.length));
}

#endif
