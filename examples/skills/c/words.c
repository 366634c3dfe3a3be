/* {"text":"…"} → {"longest":"…","words":n}: how many words a text has, and the first of its longest. */
#include <palisade.h>

/** How many bytes of white space, as Unicode has it, the text begins with: 0 where another character does. */
static uint32_t space_at(palisade_bytes text) {
  const uint8_t *at = text.at;
  if (at[0] == ' ' || (at[0] >= '\t' && at[0] <= '\r')) return 1;
  if (at[0] == 0xc2) return at[1] == 0x85 || at[1] == 0xa0 ? 2 : 0;
  if (at[0] == 0xe1) return at[1] == 0x9a && at[2] == 0x80 ? 3 : 0;
  if (at[0] == 0xe3) return at[1] == 0x80 && at[2] == 0x80 ? 3 : 0;
  if (at[0] != 0xe2) return 0;
  if (at[1] == 0x81) return at[2] == 0x9f ? 3 : 0;
  if (at[1] != 0x80) return 0;
  return at[2] <= 0x8a || at[2] == 0xa8 || at[2] == 0xa9 || at[2] == 0xaf ? 3 : 0;
}

PALISADE_TOOL(words) {
  const palisade_json *member = palisade_get(input, palisade_text("text"));
  if (!palisade_is(member, PALISADE_TEXT) || input->size != 1)
    return palisade_fail(palisade_text("wrong-input"),
                         palisade_text("expected an object with a text and nothing else"));

  uint32_t count = 0, most = 0;
  palisade_bytes longest = palisade_none, rest = member->text;
  while (rest.length > 0) {
    const palisade_bytes word = rest;
    uint32_t characters = 0, space = 0;
    while (rest.length > 0 && (space = space_at(rest)) == 0) {
      // The first byte of a character; those behind it begin with the bits 10.
      if (rest.at[0] >> 6 != 2) characters++;
      rest = palisade_after(rest, 1);
    }
    if (characters > 0) count++;
    if (characters > most) {
      most = characters;
      longest = (palisade_bytes){word.at, word.length - rest.length};
    }
    rest = palisade_after(rest, rest.length > 0 ? space : 0);
  }

  palisade_writer output = palisade_write();
  palisade_open(&output, '{');
  palisade_put_text_member(&output, "longest", longest);
  palisade_put_int_member(&output, "words", count);
  palisade_close(&output, '}');
  return palisade_written(&output);
}
