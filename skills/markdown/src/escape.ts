import { joined } from '@palisade/guest/assembly';

/** Text as HTML shows it: nothing of it can begin or end a tag, an attribute or an entity. */
export function escaped(text: string): string {
  let from = 0;
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit !== 0x22 && unit !== 0x26 && unit !== 0x3c && unit !== 0x3e) continue;
    pieces.push(text.slice(from, at));
    pieces.push(entityOf(unit));
    from = at + 1;
  }
  if (from === 0) return text;
  pieces.push(text.slice(from));
  return joined(pieces);
}

function entityOf(unit: i32): string {
  if (unit === 0x26) return '&amp;';
  if (unit === 0x3c) return '&lt;';
  if (unit === 0x3e) return '&gt;';
  return '&quot;';
}
