import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/*
 * Which functions a program takes from shared libraries: the undefined names of the dynamic symbol table of an ELF file. A
 * file of the system is read, but read strictly all the same: whatever does not fit is unknown, and no size in it is
 * believed.
 */

const SECTION_DYNAMIC_SYMBOLS = 11;
const MAX_SECTIONS = 1_024;
/** Of a table of symbols, and of their names; those of a browser have 2 MiB. */
const MAX_TABLE_BYTES = 16 * 1024 * 1024;

/** Where the fields of a header are, by the size of an address. */
const LAYOUTS = {
  1: { header: 52, sections: 0x20, sectionSize: 0x2e, section: 40, offset: 0x10, size: 0x14, link: 0x18 },
  2: { header: 64, sections: 0x28, sectionSize: 0x3a, section: 64, offset: 0x18, size: 0x20, link: 0x28 },
} as const;

const SYMBOLS = {
  1: { size: 16, section: 14 },
  2: { size: 24, section: 6 },
} as const;

/** The names that the program at this path imports; null where they cannot be read, as of one without libraries. */
export function importedNames(path: string): ReadonlySet<string> | null {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
  } catch {
    // Gone or unreadable by now: nothing is known of it.
    return null;
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return null;
    return namesIn((at, bytes) => readAt(fd, at, bytes, stats.size));
  } finally {
    closeSync(fd);
  }
}

type Read = (at: number, bytes: number) => DataView | null;

/** Boundary: what lies beyond the file, or is too large, is not read. */
function readAt(fd: number, at: number, bytes: number, fileBytes: number): DataView | null {
  if (!Number.isSafeInteger(at) || bytes > MAX_TABLE_BYTES || at + bytes > fileBytes) return null;
  const buffer = new Uint8Array(bytes);
  return readSync(fd, buffer, 0, bytes, at) === bytes ? new DataView(buffer.buffer) : null;
}

function namesIn(read: Read): ReadonlySet<string> | null {
  const ident = read(0, 16);
  if (ident === null || ident.getUint32(0) !== 0x7f454c46) return null;
  const addressSize = ident.getUint8(4);
  if (addressSize !== 1 && addressSize !== 2) return null;
  const file = { read, addressSize, isLittle: ident.getUint8(5) === 1 } as const;
  const sections = sectionsOf(file);
  const symbols = sections?.find(({ type }) => type === SECTION_DYNAMIC_SYMBOLS);
  const names = symbols === undefined ? undefined : sections?.[symbols.link];
  if (symbols === undefined || names === undefined) return null;
  const [table, text] = [read(symbols.offset, symbols.size), read(names.offset, names.size)];
  return table === null || text === null ? null : undefinedNames(file, table, text);
}

type Elf = { readonly read: Read; readonly addressSize: 1 | 2; readonly isLittle: boolean };
type Section = {
  readonly type: number;
  readonly offset: number;
  readonly size: number;
  readonly link: number;
};

function sectionsOf({ read, addressSize, isLittle }: Elf): readonly Section[] | null {
  const layout = LAYOUTS[addressSize];
  const header = read(0, layout.header);
  if (header === null) return null;
  const address = (view: DataView, at: number) =>
    addressSize === 1 ? view.getUint32(at, isLittle) : Number(view.getBigUint64(at, isLittle));
  const each = header.getUint16(layout.sectionSize, isLittle);
  const count = header.getUint16(layout.sectionSize + 2, isLittle);
  if (each !== layout.section || count > MAX_SECTIONS) return null;
  const table = read(address(header, layout.sections), count * each);
  if (table === null) return null;
  return Array.from({ length: count }, (_, index) => {
    const at = index * each;
    return {
      type: table.getUint32(at + 4, isLittle),
      offset: address(table, at + layout.offset),
      size: address(table, at + layout.size),
      link: table.getUint32(at + layout.link, isLittle),
    };
  });
}

function undefinedNames(
  { addressSize, isLittle }: Elf,
  table: DataView,
  text: DataView,
): ReadonlySet<string> | null {
  const { size, section } = SYMBOLS[addressSize];
  const bytes = Buffer.from(text.buffer);
  const found = new Set<string>();
  for (let at = 0; at + size <= table.byteLength; at += size) {
    const name = table.getUint32(at, isLittle);
    if (table.getUint16(at + section, isLittle) !== 0 || name === 0) continue;
    const end = bytes.indexOf(0, name);
    // Boundary: a name outside of the names is one that is not known.
    if (end < 0) return null;
    found.add(bytes.toString('latin1', name, end));
  }
  // A program that imports nothing has everything in itself.
  return found.size === 0 ? null : found;
}
