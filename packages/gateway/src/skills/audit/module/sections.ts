/** A custom section: nothing runs it, and whoever runs the module passes over it. */
export type CustomSection = { readonly name: string; readonly content: Uint8Array };

const HEADER_BYTES = 8;
const CUSTOM = 0;
/** What a component has inside itself: modules, and components. */
const NESTED: readonly number[] = [1, 4];
const MOST_SECTIONS = 20_000;

/** The custom sections of a module, or of a component and of all that it is made of; as far as they can be read. */
export function customSections(bytes: Uint8Array): readonly CustomSection[] {
  const found: CustomSection[] = [];
  const open = [bytes];
  let left = MOST_SECTIONS;
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const isComponent = part[6] === 1;
    // Boundary: a section that is longer than what it stands in ends the walk; the engine refuses such a module.
    for (let at = HEADER_BYTES; at < part.length && left > 0; left -= 1) {
      const id = part[at] ?? 0;
      const [length, start] = readUnsigned(part, at + 1);
      const body = part.subarray(start, start + length);
      if (body.length < length) break;
      if (id === CUSTOM) found.push(readCustom(body));
      else if (isComponent && NESTED.includes(id)) open.push(body);
      at = start + length;
    }
  }
  return found;
}

function readCustom(body: Uint8Array): CustomSection {
  const [length, start] = readUnsigned(body, 0);
  const name = Buffer.from(body.subarray(start, start + length)).toString();
  return { name, content: body.subarray(start + length) };
}

/** A number of at most five bytes, and where it ends. */
function readUnsigned(bytes: Uint8Array, from: number): readonly [value: number, end: number] {
  let value = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = bytes[from + at] ?? 0;
    value += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) return [value, from + at + 1];
  }
  return [value, from + 5];
}
