/* Tools on plain text; a character is one of Unicode, and half a pair never comes to be. */
import { asNumber, asText, fail, Json, run } from '@palisade/guest/assembly';
import { counted } from './count';
import { unifiedDiff } from './diff';
import { slugOf } from './slug';
import { truncated } from './truncate';
import { wrapped } from './wrap';

export { palisade_alloc } from '@palisade/guest/assembly';

const SLUG_CHARACTERS: i32 = 80;
const WRAP_WIDTH: i32 = 80;
const DIFF_CONTEXT: i32 = 3;

export function count(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const text = asText(input.get('text'));
    return text === null ? wrongInput('text') : counted(text);
  });
}

export function slug(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const text = asText(input.get('text'));
    if (text === null) return wrongInput('text');
    const made = slugOf(text, numberOr(input.get('max_characters'), SLUG_CHARACTERS));
    if (made === '')
      return fail('nothing-left', 'no letter and no digit of the text can be written in plain ASCII');
    return Json.object().setText('slug', made);
  });
}

export function wrap(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const text = asText(input.get('text'));
    if (text === null) return wrongInput('text');
    return wrapped(text, numberOr(input.get('width'), WRAP_WIDTH));
  });
}

export function truncate(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const text = asText(input.get('text'));
    const most = numberOr(input.get('max_characters'), 0);
    if (text === null || most < 1) return wrongInput('text and max_characters');
    const mark = asText(input.get('mark'));
    return truncated(text, most, mark === null ? '…' : mark);
  });
}

export function diff(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const before = asText(input.get('before'));
    const after = asText(input.get('after'));
    if (before === null || after === null) return wrongInput('before and after');
    return unifiedDiff(before, after, numberOr(input.get('context'), DIFF_CONTEXT));
  });
}

function numberOr(value: Json | null, otherwise: i32): i32 {
  const number = asNumber(value);
  return Number.isNaN(number) ? otherwise : (number as i32);
}

/** The gateway has checked the input against its schema; this is for who calls the module without one. */
function wrongInput(what: string): Json {
  return fail('wrong-input', `expected an object with ${what}`);
}
