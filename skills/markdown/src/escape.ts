import { joined } from './join';

/** Text as HTML shows it: nothing of it can begin or end a tag, an attribute or an entity. */
export function escaped(text: string): string {
  let from = 0;
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const entity = entityOf(text.charCodeAt(at));
    if (entity === '') continue;
    pieces.push(text.slice(from, at));
    pieces.push(entity);
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
  return unit === 0x22 ? '&quot;' : '';
}
