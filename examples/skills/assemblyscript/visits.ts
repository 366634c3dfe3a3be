/* {"page":"home"} → {"page":"home","visits":n}: one visit more, whoever else counts at the same time. */
import { ABSENT, asText, CONFLICT, fail, Json, MISSING, run, Storage } from '@palisade/guest/assembly';

export { palisade_alloc } from '@palisade/guest/assembly';

const MOST_TRIES: i32 = 100;

export function visit(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const page = asText(input.get('page'));
    if (page === null || input.size !== 1 || !isName(page))
      return fail('wrong-input', 'expected an object with a page: 1 to 64 small letters, digits and dashes');
    return visited(page);
  });
}

function visited(page: string): Json {
  const storage = new Storage();
  const key = `visits/${page}`;
  for (let left = MOST_TRIES; left > 0; left -= 1) {
    const stored = storage.get(key);
    if (!stored.ok && stored.error !== MISSING) return fail('no-storage', 'the visits cannot be read');
    if (stored.ok && !isCount(stored.value.text)) return fail('no-count', 'what is stored is no count');
    const visits = stored.ok ? I32.parseInt(stored.value.text) + 1 : 1;
    const put = storage.putText(key, visits.toString(), stored.ok ? stored.value.version : ABSENT);
    if (put === 0) return Json.object().setText('page', page).setNumber('visits', visits);
    // Another call was faster: read again what it has written.
    if (put !== CONFLICT) return fail('no-storage', 'the visit cannot be written');
  }
  return fail('busy', 'too many others count at the same time');
}

function isName(text: string): bool {
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (!isDigit(unit) && !(unit >= 0x61 && unit <= 0x7a) && unit !== 0x2d) return false;
  }
  return text.length > 0 && text.length <= 64;
}

function isCount(text: string): bool {
  for (let at = 0; at < text.length; at += 1) if (!isDigit(text.charCodeAt(at))) return false;
  return text.length > 0 && text.length <= 9;
}

function isDigit(unit: i32): bool {
  return unit >= 0x30 && unit <= 0x39;
}
