/* {"page":"home"} → {"page":"home","visits":n}: one visit more, whoever else counts at the same time. */
#include <palisade.h>

#define MOST_TRIES 100

static bool is_name(palisade_bytes text) {
  for (uint32_t at = 0; at < text.length; at++) {
    const uint8_t byte = text.at[at];
    if (!palisade_is_digit(byte) && !(byte >= 'a' && byte <= 'z') && byte != '-') return false;
  }
  return text.length > 0 && text.length <= 64;
}

/** The number that digits are; -1 where they are no count. */
static int32_t count_of(palisade_bytes digits) {
  int32_t count = 0;
  for (uint32_t at = 0; at < digits.length && at < 10; at++) {
    if (!palisade_is_digit(digits.at[at])) return -1;
    count = count * 10 + (digits.at[at] - '0');
  }
  return digits.length > 0 && digits.length <= 9 ? count : -1;
}

static palisade_bytes answer(palisade_bytes page, int32_t visits) {
  palisade_writer output = palisade_write();
  palisade_open(&output, '{');
  palisade_put_text_member(&output, "page", page);
  palisade_put_int_member(&output, "visits", visits);
  palisade_close(&output, '}');
  return palisade_written(&output);
}

PALISADE_TOOL(visit) {
  const palisade_json *page = palisade_get(input, palisade_text("page"));
  if (!palisade_is(page, PALISADE_TEXT) || input->size != 1 || !is_name(page->text))
    return palisade_fail(
        palisade_text("wrong-input"),
        palisade_text("expected an object with a page: 1 to 64 small letters, digits and dashes"));

  const int32_t storage = palisade_handle(PALISADE_STORAGE, 0);
  const palisade_bytes key = palisade_join(palisade_text("visits/"), page->text);
  for (int left = MOST_TRIES; left > 0; left--) {
    const palisade_stored stored = palisade_get_stored(storage, key);
    const bool is_new = stored.error == PALISADE_MISSING;
    if (stored.error && !is_new)
      return palisade_fail(palisade_text("no-storage"), palisade_text("the visits cannot be read"));
    const int32_t before = is_new ? 0 : count_of(stored.value);
    if (before < 0) return palisade_fail(palisade_text("no-count"), palisade_text("what is stored is no count"));
    const palisade_bytes digits = palisade_digits(before + 1);
    const int32_t put = palisade_put_stored(storage, key, digits, is_new ? palisade_absent : stored.version);
    if (put == 0) return answer(page->text, before + 1);
    // Another call was faster: read again what it has written.
    if (put != PALISADE_CONFLICT)
      return palisade_fail(palisade_text("no-storage"), palisade_text("the visit cannot be written"));
  }
  return palisade_fail(palisade_text("busy"), palisade_text("too many others count at the same time"));
}
