/** Markers of tools have a word or two; a sentence has more. */
const LEAST_WORDS = 4;

/** Where a comment of HTML with a sentence in it begins, or one of Markdown that looks like a link; -1 without one. */
export function findComment(text: string): number {
  for (let at = text.indexOf('<!--'); at >= 0; at = text.indexOf('<!--', at + 4)) {
    const end = text.indexOf('-->', at + 4);
    // A comment that does not end hides the rest.
    if (countWords(text.slice(at + 4, end < 0 ? undefined : end)) >= LEAST_WORDS) return at;
    if (end < 0) break;
    at = end - 1;
  }
  return text.search(/^ {0,3}\[[^\]\n]{1,60}\]:[ \t]?<?#?>?[ \t]["'(]/m);
}

function countWords(text: string): number {
  return text.split(/\s+/, 64).filter((word) => /\p{L}{2}/u.test(word)).length;
}
