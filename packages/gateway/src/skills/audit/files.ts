import { BURIED_MARKS, FILE_MARKS, type FileMark, SCRIPT_ENDINGS } from './files.table.ts';

/** What a file begins like; null: like nothing that is known here. */
export function markOf(bytes: Uint8Array): FileMark | null {
  const head = Buffer.from(bytes.subarray(0, 300)).toString('latin1');
  return FILE_MARKS.find(({ mark, at = 0 }) => head.startsWith(mark, at)) ?? null;
}

/** The name of the program or archive that bytes begin like, if they do. */
export function programAt(bytes: Uint8Array): string | null {
  const found = markOf(bytes);
  return found === null || found.kind === 'picture' ? null : found.name;
}

/** A program or an archive anywhere in the bytes. */
export function programIn(bytes: Uint8Array): { readonly name: string; readonly at: number } | null {
  const searched = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const { name, mark, after } of BURIED_MARKS) {
    const wanted = Buffer.from(mark, 'latin1');
    for (let at = searched.indexOf(wanted); at >= 0; at = searched.indexOf(wanted, at + 1)) {
      const next = at + wanted.length;
      if (after.every((allowed, i) => allowed?.includes(searched[next + i] ?? -1) ?? true))
        return { name, at };
    }
  }
  return null;
}

/** Tells whether a system would run the file when it is opened, by its first line or its name. */
export function isScript(path: string, bytes: Uint8Array): boolean {
  return (bytes[0] === 0x23 && bytes[1] === 0x21) || SCRIPT_ENDINGS.test(path);
}
