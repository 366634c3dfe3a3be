/* Identifiers that nobody can guess, and the time: from the random bytes and the clock of the call. */
#include <palisade.h>

#include "calendar.h"

#define UUID_BYTES 16
#define UUID_CHARACTERS 36
#define MOST_COUNT 100
/** Five bits each: digits and small letters without i, l, o and u, which are easily taken for others. */
static const char token_letters[] = "0123456789abcdefghjkmnpqrstvwxyz";

static int32_t int_member(const palisade_json *input, const char *key, int32_t otherwise) {
  const palisade_json *member = palisade_get(input, palisade_of(key));
  return palisade_is(member, PALISADE_NUMBER) ? (int32_t)member->number : otherwise;
}

/** The time in the first six bytes, of the kind that sorts by it. */
static void put_time(uint8_t *uuid, uint64_t ms) {
  for (int at = 0; at < 6; at++) uuid[at] = (uint8_t)(ms >> (40 - 8 * at));
}

static palisade_bytes spell_uuid(const uint8_t *uuid) {
  static const char digits[] = "0123456789abcdef";
  uint8_t *const place = palisade_alloc(UUID_CHARACTERS);
  uint8_t *end = place;
  for (int at = 0; at < UUID_BYTES; at++) {
    if (at == 4 || at == 6 || at == 8 || at == 10) *end++ = '-';
    *end++ = (uint8_t)digits[uuid[at] >> 4];
    *end++ = (uint8_t)digits[uuid[at] & 15];
  }
  return (palisade_bytes){place, UUID_CHARACTERS};
}

static palisade_bytes make_uuid(int32_t version) {
  uint8_t uuid[UUID_BYTES];
  palisade_random(uuid, sizeof uuid);
  if (version == 7) put_time(uuid, (uint64_t)palisade_now_ms());
  uuid[6] = (uint8_t)(version << 4 | (uuid[6] & 0x0f));
  uuid[8] = 0x80 | (uuid[8] & 0x3f);
  return spell_uuid(uuid);
}

PALISADE_TOOL(uuid) {
  const int32_t version = int_member(input, "version", 4), count = int_member(input, "count", 1);
  if ((version != 4 && version != 7) || count < 1 || count > MOST_COUNT)
    return palisade_fail(palisade_text("wrong-input"), palisade_text("expected version 4 or 7 and a count of 1 to 100"));
  palisade_writer output = palisade_write();
  palisade_open(&output, '{');
  palisade_put_key(&output, palisade_text("uuids"));
  palisade_open(&output, '[');
  for (int32_t left = count; left > 0; left--) palisade_put_text(&output, make_uuid(version));
  palisade_close(&output, ']');
  palisade_close(&output, '}');
  return palisade_written(&output);
}

PALISADE_TOOL(token) {
  const int32_t length = int_member(input, "characters", 26);
  if (length < 8 || length > 128)
    return palisade_fail(palisade_text("wrong-input"), palisade_text("expected 8 to 128 characters"));
  uint8_t *const place = palisade_alloc((uint32_t)length);
  palisade_random(place, (uint32_t)length);
  // 32 letters: each is as likely as any other.
  for (int32_t at = 0; at < length; at++) place[at] = (uint8_t)token_letters[place[at] & 31];
  palisade_writer output = palisade_write();
  palisade_open(&output, '{');
  palisade_put_int_member(&output, "bits", length * 5);
  palisade_put_text_member(&output, "token", (palisade_bytes){place, (uint32_t)length});
  palisade_close(&output, '}');
  return palisade_written(&output);
}

PALISADE_TOOL(now) {
  (void)input;
  const int64_t ms = (int64_t)palisade_now_ms();
  palisade_writer output = palisade_write();
  palisade_open(&output, '{');
  palisade_put_text_member(&output, "iso", calendar_spell(ms));
  palisade_put_int_member(&output, "ms", ms);
  palisade_close(&output, '}');
  return palisade_written(&output);
}
