import { Json, joined } from '@palisade/guest/assembly';
import { charactersOf, isSpace, lineEnd } from './characters';

const NO_BREAK: i32 = 0xa0;

/** Breaks lines that are longer than a width at their spaces; a word that is longer by itself stays whole. */
export function wrapped(text: string, width: i32): Json {
  const lines: string[] = [];
  for (let from = 0; from <= text.length; ) {
    const end = lineEnd(text, from);
    wrapLine(text.slice(from, end), width, lines);
    from = end + 1;
  }
  return Json.object().setText('text', joined(lines, '\n'));
}

/** Spaces at a break are gone; those between words of one line stay as they are. */
function wrapLine(line: string, width: i32, lines: string[]): void {
  let start = 0;
  let end = 0;
  let size = 0;
  for (let at = 0; at < line.length; ) {
    const wordFrom = skip(line, at, true);
    const wordEnd = skip(line, wordFrom, false);
    if (wordEnd === wordFrom) break;
    const more = charactersOf(line, end, wordEnd);
    if (end > start && size + more > width) {
      lines.push(line.slice(start, end));
      start = wordFrom;
      size = charactersOf(line, wordFrom, wordEnd);
    } else size += more;
    end = wordEnd;
    at = wordEnd;
  }
  lines.push(line.slice(start, end));
}

/** The first place from there on that is a breaking space, or none. */
function skip(line: string, from: i32, isInSpace: bool): i32 {
  let at = from;
  for (; at < line.length; at += 1) {
    const unit = line.charCodeAt(at);
    const breaks = isSpace(unit) && unit !== NO_BREAK && unit !== 0x202f;
    if (breaks !== isInSpace) break;
  }
  return at;
}
