import { Json } from '@palisade/guest/assembly';
import { isSecondHalf, isSpace } from './characters';

/** How much of everything a text has, and the first of its longest words. */
export function counted(text: string): Json {
  let characters = 0;
  let words = 0;
  let longest = '';
  let most = 0;
  let wordFrom = 0;
  let wordSize = 0;
  // One place beyond the text ends the last word.
  for (let at = 0; at <= text.length; at += 1) {
    if (at === text.length || isSpace(text.charCodeAt(at))) {
      if (at > wordFrom) words += 1;
      if (wordSize > most) {
        most = wordSize;
        longest = text.slice(wordFrom, at);
      }
      wordFrom = at + 1;
      wordSize = 0;
      if (at < text.length) characters += 1;
    } else if (!isSecondHalf(text.charCodeAt(at))) {
      characters += 1;
      wordSize += 1;
    }
  }
  return Json.object()
    .setNumber('bytes', String.UTF8.byteLength(text))
    .setNumber('characters', characters)
    .setNumber('lines', linesOf(text))
    .setText('longest_word', longest)
    .setNumber('words', words);
}

/** A line feed ends a line; what follows the last one is a line where there is something. */
function linesOf(text: string): i32 {
  let lines = 0;
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) === 0x0a) lines += 1;
  return text.length > 0 && text.charCodeAt(text.length - 1) !== 0x0a ? lines + 1 : lines;
}
