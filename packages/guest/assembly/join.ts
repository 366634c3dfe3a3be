/** Concatenates texts, copying each once: the `join` of arrays copies everything again for each of them. */
export function joined(pieces: string[], between: string = ''): string {
  let units = between.length * max(pieces.length - 1, 0);
  for (let at = 0; at < pieces.length; at += 1) units += pieces[at].length;
  const room = heap.alloc(units << 1);
  let end = room;
  for (let at = 0; at < pieces.length; at += 1) {
    if (at > 0) end = put(end, between);
    end = put(end, pieces[at]);
  }
  return String.UTF16.decodeUnsafe(room, end - room);
}

/** Returns the position after it. */
function put(pointer: usize, text: string): usize {
  const bytes = (text.length as usize) << 1;
  memory.copy(pointer, changetype<usize>(text), bytes);
  return pointer + bytes;
}
