/* Checksums of data, and data in other spellings: UTF-8, hexadecimal, base64 and base64url. */
#include <palisade.h>

#include "base64.h"
#include "crc32.h"
#include "hex.h"
#include "sha256.h"

typedef enum { SPELLED_UTF8, SPELLED_HEX, SPELLED_BASE64, SPELLED_BASE64URL, SPELLED_NONE } spelling;

static palisade_bytes member_text(const palisade_json *input, const char *key) {
  const palisade_json *member = palisade_get(input, palisade_of(key));
  return palisade_is(member, PALISADE_TEXT) ? member->text : palisade_none;
}

/** The spelling that a member names; UTF-8 where it is left out. */
static spelling spelling_of(const palisade_json *input, const char *key) {
  static const char *const names[] = {"utf-8", "hex", "base64", "base64url"};
  const palisade_bytes name = member_text(input, key);
  if (name.length == 0) return SPELLED_UTF8;
  for (int at = 0; at < SPELLED_NONE; at++)
    if (palisade_same(name, palisade_of(names[at]))) return (spelling)at;
  return SPELLED_NONE;
}

/** The bytes that a text spells; false where it spells none. */
static bool read_spelled(palisade_bytes text, spelling from, palisade_bytes *data) {
  switch (from) {
    case SPELLED_UTF8: *data = text; return true;
    case SPELLED_HEX: return hex_decode(text, data);
    case SPELLED_BASE64: return base64_decode(text, base64_plain, data);
    case SPELLED_BASE64URL: return base64_decode(text, base64_url, data);
    default: return false;
  }
}

static palisade_bytes write_spelled(palisade_bytes data, spelling as) {
  switch (as) {
    case SPELLED_HEX: return hex_encode(data);
    case SPELLED_BASE64: return base64_encode(data, base64_plain, true);
    case SPELLED_BASE64URL: return base64_encode(data, base64_url, false);
    default: return data;
  }
}

static bool is_utf8(palisade_bytes data) {
  palisade_cursor cursor = {data.at, data.at + data.length};
  while (cursor.at < cursor.end) {
    if (*cursor.at < 0x80) cursor.at++;
    else if (!palisade_take_wide(&cursor)) return false;
  }
  return true;
}

static palisade_bytes answer(const char *key, palisade_bytes text, uint32_t bytes) {
  palisade_writer output = palisade_write();
  palisade_open(&output, '{');
  palisade_put_int_member(&output, "bytes", bytes);
  palisade_put_text_member(&output, key, text);
  palisade_close(&output, '}');
  return palisade_written(&output);
}

static palisade_bytes wrong_spelling(void) {
  return palisade_fail(palisade_text("wrong-spelling"),
                       palisade_text("the data is not spelled as was said: hex wants pairs of digits, base64 its letters, "
                                     "padding at the end and no bits left over"));
}

PALISADE_TOOL(sha256) {
  palisade_bytes data;
  if (!read_spelled(member_text(input, "data"), spelling_of(input, "encoding"), &data)) return wrong_spelling();
  uint8_t digest[SHA256_BYTES];
  sha256_digest(data, digest);
  return answer("sha256", hex_encode((palisade_bytes){digest, SHA256_BYTES}), data.length);
}

PALISADE_TOOL(crc32) {
  palisade_bytes data;
  if (!read_spelled(member_text(input, "data"), spelling_of(input, "encoding"), &data)) return wrong_spelling();
  const uint32_t sum = crc32_of(data);
  const uint8_t bytes[4] = {(uint8_t)(sum >> 24), (uint8_t)(sum >> 16), (uint8_t)(sum >> 8), (uint8_t)sum};
  return answer("crc32", hex_encode((palisade_bytes){bytes, sizeof bytes}), data.length);
}

PALISADE_TOOL(encode) {
  const palisade_bytes text = member_text(input, "text");
  return answer("data", write_spelled(text, spelling_of(input, "as")), text.length);
}

PALISADE_TOOL(decode) {
  palisade_bytes data;
  if (!read_spelled(member_text(input, "data"), spelling_of(input, "from"), &data)) return wrong_spelling();
  if (!is_utf8(data))
    return palisade_fail(palisade_text("not-text"), palisade_text("the data is no text in UTF-8"));
  return answer("text", data, data.length);
}
