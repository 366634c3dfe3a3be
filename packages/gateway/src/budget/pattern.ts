/** Tells whether the whole text fits the pattern, where `*` stands for any characters or none. */
export function fitsPattern(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return text === pattern;
  // Taking the earliest place for each piece in turn is enough, and takes no time that a subject could stretch.
  if (!text.startsWith(head)) return false;
  let at = head.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - tail.length >= at && text.endsWith(tail);
}
