/* {"text":"…"} → {"longest":"…","words":n}: how many words a text has, and the first of its longest. */
import { asText, fail, Json, run } from '@palisade/guest/assembly';

export { palisade_alloc } from '@palisade/guest/assembly';

export function words(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const text = asText(input.get('text'));
    if (text === null || input.size !== 1)
      return fail('wrong-input', 'expected an object with a text and nothing else');
    return counted(text);
  });
}

function counted(text: string): Json {
  let count = 0;
  let longest = '';
  let most = 0;
  for (let at = 0; at < text.length; at += 1) {
    const from = at;
    let characters = 0;
    // The second half of a pair counts with the first.
    for (; at < text.length && !isSpace(text.charCodeAt(at)); at += 1)
      if (text.charCodeAt(at) >> 10 !== 0x37) characters += 1;
    if (at > from) count += 1;
    if (characters > most) {
      most = characters;
      longest = text.slice(from, at);
    }
  }
  return Json.object().setText('longest', longest).setNumber('words', count);
}

/** White space as Unicode has it; none of it is beyond 16 bits. */
function isSpace(unit: i32): bool {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0x2000) return unit === 0x85 || unit === 0xa0 || unit === 0x1680;
  if (unit <= 0x200a || unit === 0x2028 || unit === 0x2029) return true;
  return unit === 0x202f || unit === 0x205f || unit === 0x3000;
}
