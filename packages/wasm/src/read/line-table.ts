import { WasmError } from '../error.ts';
import { Cursor } from './cursor.ts';
import { malformed } from './refusal.ts';

/*
 * The line tables of DWARF 2 to 5, as compilers of C, C++ and Rust write them into custom sections. Only what leads from an
 * address to a file and a line is read. Boundary: a module wrote all of this. Each step of a loop reads at least one byte
 * of a section, so the time is that of reading it once; a unit that is malformed is left out.
 */

/** Contents of the sections that a line table refers to. */
export type LineSections = Readonly<Record<'lines' | 'strings' | 'lineStrings', Uint8Array>>;

export type SourcePlace = { readonly file: string; readonly line: number };

type Wanted = { readonly address: number; place: SourcePlace | null };
/** Boundary: many short entries may refer to one long text, so it is read when it is needed. */
type Text = () => string;
type FileEntry = { readonly name: Text; readonly directory: number };
type Header = {
  readonly opcodeBase: number;
  readonly lengths: readonly number[];
  readonly lineBase: number;
  readonly lineRange: number;
  readonly step: number;
  /** The first index of a file: 1 before DWARF 5. */
  readonly firstFile: number;
  readonly directories: readonly Text[];
  readonly files: readonly FileEntry[];
};

const LONG_FORMAT = 0xffff_fff0;
const MOST_PATH_BYTES = 512;
const MOST_ENTRIES = 65_536;
const decoder = new TextDecoder();

/** The places of addresses, each an offset in the code section; null where the table has none. */
export function placesIn(
  sections: LineSections,
  addresses: readonly number[],
): readonly (SourcePlace | null)[] {
  const wanted = addresses.map((address): Wanted => ({ address, place: null }));
  const cursor = new Cursor(sections.lines);
  while (cursor.left > 0 && wanted.some(({ place }) => place === null)) {
    const unit = tolerated(() => nextUnit(cursor));
    if (unit === null) break;
    tolerated(() => runProgram(unit, readHeader(unit, sections), wanted));
  }
  return wanted.map(({ place }) => place);
}

function tolerated<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof WasmError) return null;
    throw error;
  }
}

function nextUnit(cursor: Cursor): Cursor {
  const length = fixed(cursor, 4);
  if (length >= LONG_FORMAT)
    throw malformed('a line table has the format of 64 bits, expected 32', cursor.at);
  const start = cursor.at;
  cursor.skip(length, 'a line table');
  return new Cursor(cursor.bytes, start, cursor.at);
}

function readHeader(cursor: Cursor, sections: LineSections): Header {
  const version = fixed(cursor, 2);
  if (version < 2 || version > 5) throw malformed(`a line table has version ${version}`, cursor.at);
  if (version === 5) cursor.skip(2, 'the size of an address');
  const headerBytes = fixed(cursor, 4);
  const end = cursor.at + headerBytes;
  const step = fixed(cursor, 1);
  if (version >= 4) cursor.skip(1, 'operations of an instruction');
  cursor.skip(1, 'a flag');
  const lineBase = (fixed(cursor, 1) << 24) >> 24;
  const lineRange = fixed(cursor, 1);
  const opcodeBase = fixed(cursor, 1);
  if (lineRange === 0 || opcodeBase === 0) throw malformed('a line table has no opcodes', cursor.at);
  const lengths = Array.from({ length: opcodeBase - 1 }, () => fixed(cursor, 1));
  const tables = version === 5 ? readTables(cursor, sections) : readPlainTables(cursor);
  cursor.skip(end - cursor.at, 'the rest of a header');
  return { opcodeBase, lengths, lineBase, lineRange, step, firstFile: version === 5 ? 0 : 1, ...tables };
}

/** Before DWARF 5: texts up to an empty one. */
function readPlainTables(cursor: Cursor): Pick<Header, 'directories' | 'files'> {
  // The first is that of the compiler, which is not written down.
  const directories: Text[] = [() => ''];
  for (let text = terminated(cursor); text !== ''; text = terminated(cursor)) directories.push(() => text);
  const files: FileEntry[] = [];
  for (let name = terminated(cursor); name !== ''; name = terminated(cursor)) {
    files.push({ name: () => name, directory: cursor.u32('a directory') });
    cursor.u32('a time');
    cursor.u32('a length');
  }
  return { directories, files };
}

function readTables(cursor: Cursor, sections: LineSections): Pick<Header, 'directories' | 'files'> {
  const directories = readEntries(cursor, sections).map(({ name }) => name);
  return { directories, files: readEntries(cursor, sections) };
}

const [PATH, DIRECTORY] = [1, 2];

function readEntries(cursor: Cursor, sections: LineSections): FileEntry[] {
  const kinds = Array.from({ length: fixed(cursor, 1) }, () => [
    cursor.u32('a kind of content'),
    cursor.u32('a form'),
  ]);
  const count = cursor.u32('a number of entries');
  // Boundary: an entry without content would take no byte.
  if (count > (kinds.length === 0 ? 0 : Math.min(cursor.left, MOST_ENTRIES)))
    throw malformed('a line table has too many entries', cursor.at);
  return Array.from({ length: count }, () => {
    const entry: { name: Text; directory: number } = { name: () => '', directory: 0 };
    for (const [kind, form = 0] of kinds) {
      const value = readForm(cursor, form, sections);
      if (kind === PATH) entry.name = () => String(typeof value === 'function' ? value() : value);
      if (kind === DIRECTORY) entry.directory = Number(value);
    }
    return entry;
  });
}

/** The forms that producers use for paths, indices, times, sizes and digests. */
function readForm(
  cursor: Cursor,
  form: number,
  { strings, lineStrings }: LineSections,
): string | number | Text {
  switch (form) {
    case 0x08:
      return terminated(cursor);
    case 0x0e:
      return textAt(strings, fixed(cursor, 4));
    case 0x1f:
      return textAt(lineStrings, fixed(cursor, 4));
    case 0x0f:
      return cursor.u32('a number');
    case 0x0b:
      return fixed(cursor, 1);
    case 0x05:
      return fixed(cursor, 2);
    case 0x06:
      return fixed(cursor, 4);
    case 0x07:
    case 0x1e:
      cursor.skip(form === 0x07 ? 8 : 16, 'a value');
      return 0;
    case 0x09:
      cursor.skip(cursor.u32('a length'), 'a block');
      return 0;
    default:
      throw malformed(`a line table has the form ${form}`, cursor.at);
  }
}

/** Runs the program of a unit, whose rows are in order of their addresses within a sequence. */
function runProgram(cursor: Cursor, header: Header, wanted: readonly Wanted[]): void {
  const { opcodeBase, lengths, lineBase, lineRange, step } = header;
  let [address, file, line] = [0, 1, 1];
  let before: { readonly address: number; readonly file: number; readonly line: number } | null = null;
  const row = () => {
    for (const each of before === null || before.line <= 0 ? [] : wanted) {
      if (each.place !== null || each.address < (before?.address ?? 0) || each.address >= address) continue;
      each.place = placeOf(header, before?.file ?? 0, before?.line ?? 0);
    }
    before = { address, file, line };
  };
  const special = (opcode: number) => {
    const adjusted = opcode - opcodeBase;
    address += step * Math.floor(adjusted / lineRange);
    return lineBase + (adjusted % lineRange);
  };
  const extended = () => {
    const length = cursor.u32('a length');
    const start = cursor.at;
    cursor.skip(length, 'an operation');
    const own = new Cursor(cursor.bytes, start, cursor.at);
    const kind = fixed(own, 1);
    if (kind === 2) address = fixed(own, 4);
    if (kind !== 1) return;
    row();
    before = null;
    [address, file, line] = [0, 1, 1];
  };
  const acts: Readonly<Record<number, () => void>> = {
    0: extended,
    1: row,
    2: () => {
      address += step * cursor.u32('an advance');
    },
    3: () => {
      line += cursor.i32('an advance');
    },
    4: () => {
      file = cursor.u32('a file');
    },
    8: () => void special(255),
    9: () => {
      address += fixed(cursor, 2);
    },
  };
  while (cursor.left > 0) {
    const opcode = fixed(cursor, 1);
    if (opcode >= opcodeBase) {
      line += special(opcode);
      row();
    } else if (acts[opcode] !== undefined) acts[opcode]();
    // Of the others only the operands are read: they tell columns, blocks and the like.
    else for (let left = lengths[opcode - 1] ?? 0; left > 0; left -= 1) cursor.u32('an operand');
  }
}

function placeOf({ files, directories, firstFile }: Header, file: number, line: number): SourcePlace | null {
  const entry = files[file - firstFile];
  const name = entry?.name() ?? '';
  if (entry === undefined || name === '') return null;
  const own = directories[0]?.() ?? '';
  const directory = directories[entry.directory]?.() ?? '';
  const isBare = name.startsWith('/') || directory === '' || directory === own;
  const path = isBare ? name : `${directory}/${name}`;
  return { file: own !== '' && path.startsWith(`${own}/`) ? path.slice(own.length + 1) : path, line };
}

function fixed(cursor: Cursor, bytes: 1 | 2 | 4): number {
  let value = 0;
  for (let index = 0; index < bytes; index += 1) value += cursor.u8('a number') * 2 ** (8 * index);
  return value;
}

function terminated(cursor: Cursor): string {
  const start = cursor.at;
  while (cursor.u8('a text') !== 0);
  return pathText(cursor.bytes.subarray(start, cursor.at - 1));
}

function textAt(bytes: Uint8Array, offset: number): Text {
  return () => {
    const part = bytes.subarray(offset, offset + MOST_PATH_BYTES + 1);
    const end = part.indexOf(0);
    return end < 0 ? '' : pathText(part.subarray(0, end));
  };
}

/** Boundary: a path that is too long to show is none. */
function pathText(bytes: Uint8Array): string {
  return bytes.length > MOST_PATH_BYTES ? '' : decoder.decode(bytes);
}
