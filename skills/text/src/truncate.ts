import { Json } from '@palisade/guest/assembly';
import { charactersOf, isSecondHalf, isSpace } from './characters';

/** At most so many characters of a text, with a mark where something was cut off: behind a word, where there is one. */
export function truncated(text: string, most: i32, mark: string): Json {
  if (charactersOf(text, 0, text.length) <= most) return answer(text, false);
  // A mark that is as long as all that is wanted says nothing.
  const shown = charactersOf(mark, 0, mark.length) < most ? mark : '';
  const room = most - charactersOf(shown, 0, shown.length);
  let end = 0;
  let left = room;
  while (left > 0) {
    end += 1;
    if (end >= text.length || !isSecondHalf(text.charCodeAt(end))) left -= 1;
  }
  while (end > 0 && goesOn(text, end)) end = before(text, end);
  const word = wordEnd(text, end);
  return answer(text.slice(0, word > 0 ? word : end) + shown, true);
}

function answer(text: string, isCut: bool): Json {
  return Json.object().setBool('is_cut', isCut).setText('text', text);
}

function before(text: string, at: i32): i32 {
  return isSecondHalf(text.charCodeAt(at - 1)) ? at - 2 : at - 1;
}

/** Whether what is shown as one sign goes on behind a place: with a mark on it, or joined to the next. */
function goesOn(text: string, at: i32): bool {
  const last = text.charCodeAt(at - 1);
  const next = text.codePointAt(at);
  const joiner = 0x200d;
  if (last === joiner || next === joiner) return true;
  if ((next >= 0x300 && next <= 0x36f) || (next >= 0x20d0 && next <= 0x20ff)) return true;
  return (next >= 0xfe00 && next <= 0xfe0f) || (next >= 0x1f3fb && next <= 0x1f3ff);
}

/** Where the last whole word ends, if it is not further back than half of the text; 0 where there is none. */
function wordEnd(text: string, end: i32): i32 {
  let at = end;
  if (!isSpace(text.charCodeAt(end))) while (at > 0 && !isSpace(text.charCodeAt(at - 1))) at -= 1;
  while (at > 0 && isSpace(text.charCodeAt(at - 1))) at -= 1;
  return at * 2 >= end ? at : 0;
}
