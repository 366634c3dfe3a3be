import { crc32 } from 'node:zlib';
import { CodedError } from '../../core/coded-error.ts';
import { PACKAGE_LIMITS } from '../limits.ts';
import { entriesProblem, pathProblem } from './paths.ts';
import { type Entries, showText } from './skill-package.ts';
import { DIRECTORY_HEADER, END_RECORD, LOCAL_HEADER, type ZipField } from './zip-records.table.ts';

/*
 * The archive of a package: a ZIP file that any tool can open, in the only form for its contents. The bytes are
 * untrusted. The writer has no choices, and the reader accepts a file only when each byte of it is the one that the
 * writer would have put there; so no two readers see different files in it, and nothing hides between them. Nothing is
 * unpacked: contents are views of the bytes that were given, so reading costs no more than they do.
 */

/** One entry as stored in the archive. */
type Laid = {
  readonly path: string;
  readonly contents: Uint8Array;
  readonly crc: number;
  readonly at: number;
};
type End = { readonly entries: number; readonly directoryAt: number };

const LOCAL_BYTES = recordBytes(LOCAL_HEADER);
const DIRECTORY_BYTES = recordBytes(DIRECTORY_HEADER);
const END_BYTES = recordBytes(END_RECORD);

/** The one archive of these files, whatever order they come in; what cannot be a package is refused. */
export function writeArchive(entries: Entries): Uint8Array {
  const sorted = sortEntries(entries);
  const problem = entriesProblem(sorted) ?? sizeProblem(archiveBytes(sorted));
  if (problem !== null) throw new CodedError('skill/invalid-package', `Cannot write package: ${problem}`);
  const laid: Laid[] = [];
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const [path, contents] of sorted) {
    const entry = { path, contents, crc: crc32(contents), at };
    laid.push(entry);
    pieces.push(encodeRecord(LOCAL_HEADER, valuesOf(entry)), Buffer.from(path, 'latin1'), contents);
    at = endOf(entry);
  }
  for (const entry of laid) {
    pieces.push(encodeRecord(DIRECTORY_HEADER, valuesOf(entry)), Buffer.from(entry.path, 'latin1'));
  }
  pieces.push(encodeRecord(END_RECORD, endValues(laid, at)));
  return new Uint8Array(Buffer.concat(pieces));
}

/** The files of an archive, as views of its bytes; whatever the writer would not have written is refused. */
export function readArchive(bytes: Uint8Array): Entries {
  const problem = sizeProblem(bytes.length);
  // Boundary: the size is known before a byte is read.
  if (problem !== null) throw refusal(problem);
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = readEnd(archive);
  const laid = readEntries(archive, end);
  checkDirectory(archive, laid, end);
  const entries = new Map(laid.map(({ path, contents }) => [path, contents]));
  const unfit = entriesProblem(entries);
  if (unfit !== null) throw refusal(unfit);
  return entries;
}

/** The same files in the order of their paths, which are ASCII once they are checked. */
export function sortEntries(entries: Iterable<readonly [string, Uint8Array]>): Entries {
  return new Map([...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

function readEnd(archive: Buffer): End {
  const at = archive.length - END_BYTES;
  const wrong = wrongField(END_RECORD, {}, archive, at);
  if (wrong !== null) throw refusal(`the end record at byte ${at}: ${wrong}`);
  const entries = fieldValue(END_RECORD, 'entries', archive, at);
  // Boundary: exactly as many entries as claimed are read.
  if (entries > PACKAGE_LIMITS.entries) {
    throw refusal(`it says that it has ${entries} entries, expected at most ${PACKAGE_LIMITS.entries}`);
  }
  const directoryAt = fieldValue(END_RECORD, 'directory offset', archive, at);
  const is = `its directory offset is ${directoryAt}, expected at most ${at}`;
  if (directoryAt > at) throw refusal(`the end record at byte ${at}: ${is}`);
  return { entries, directoryAt };
}

function readEntries(archive: Buffer, end: End): readonly Laid[] {
  const laid: Laid[] = [];
  let at = 0;
  for (let index = 0; index < end.entries; index += 1) {
    const entry = readEntry(archive, at, end.directoryAt);
    const before = laid.at(-1)?.path;
    // Boundary: strictly ascending entries have one order and no duplicates.
    if (before !== undefined && entry.path <= before) {
      const where =
        entry.path === before ? 'is there twice, expected once' : `is after "${before}", expected before`;
      throw refusal(`${place(entry.path, at)}: it ${where}`);
    }
    laid.push(entry);
    at = endOf(entry);
  }
  if (at === end.directoryAt) return laid;
  throw refusal(`its entries end at byte ${at}, expected the directory there and not at ${end.directoryAt}`);
}

/** The entry at a place, which ends no later than the limit. */
function readEntry(archive: Buffer, at: number, limit: number): Laid {
  const pathAt = at + LOCAL_BYTES;
  if (pathAt > limit) throw refusal(`it has no entry at byte ${at}, expected one there`);
  const fixed = wrongField(LOCAL_HEADER, {}, archive, at);
  if (fixed !== null) throw refusal(`the entry at byte ${at}: ${fixed}`);
  const contentsAt = pathAt + fieldValue(LOCAL_HEADER, 'path length', archive, at);
  const path = archive.toString('latin1', pathAt, Math.min(contentsAt, limit));
  const size = fieldValue(LOCAL_HEADER, 'size', archive, at);
  // Boundary: a false size is found before it is used.
  const most = Math.max(0, limit - contentsAt);
  if (contentsAt + size > limit)
    throw refusal(`${place(path, at)}: its size is ${size}, expected at most ${most}`);
  const unfit = pathProblem(path);
  if (unfit !== null) throw refusal(`${place(path, at)}: ${unfit}`);
  const contents = new Uint8Array(archive.buffer, archive.byteOffset + contentsAt, size);
  const entry = { path, contents, crc: crc32(contents), at };
  const wrong = wrongField(LOCAL_HEADER, valuesOf(entry), archive, at);
  if (wrong !== null) throw refusal(`${place(path, at)}: ${wrong}`);
  return entry;
}

/** The directory and the end repeat what the entries say, and nothing is between or after them. */
function checkDirectory(archive: Buffer, laid: readonly Laid[], end: End): void {
  const endAt = archive.length - END_BYTES;
  let at = end.directoryAt;
  for (const entry of laid) {
    const pathAt = at + DIRECTORY_BYTES;
    const next = pathAt + entry.path.length;
    if (next > endAt) throw refusal(`its directory ends at byte ${endAt}, expected "${entry.path}" in it`);
    // Boundary: a tool that goes by the directory finds the same files as one that goes by the entries.
    const wrong = wrongField(DIRECTORY_HEADER, valuesOf(entry), archive, at);
    if (wrong !== null) throw refusal(`"${entry.path}" in the directory, at byte ${at}: ${wrong}`);
    const path = archive.toString('latin1', pathAt, next);
    if (path !== entry.path) {
      throw refusal(`the directory at byte ${at}: the path is ${showText(path)}, expected "${entry.path}"`);
    }
    at = next;
  }
  const wrong = wrongField(END_RECORD, endValues(laid, end.directoryAt), archive, endAt);
  if (wrong !== null) throw refusal(`the end record at byte ${endAt}: ${wrong}`);
  // Boundary: the end record speaks of a directory of this size, and it is where that ends.
  if (at !== endAt) throw refusal(`its directory ends at byte ${at}, expected the end record there`);
}

function valuesOf({ path, contents, crc, at }: Laid): ZipValues {
  return {
    'CRC-32': crc,
    'stored size': contents.length,
    size: contents.length,
    'path length': path.length,
    offset: at,
  };
}

function endValues(laid: readonly Laid[], directoryAt: number): ZipValues {
  return {
    'entries on this disk': laid.length,
    entries: laid.length,
    'directory size': laid.reduce((sum, { path }) => sum + DIRECTORY_BYTES + path.length, 0),
    'directory offset': directoryAt,
  };
}

function endOf({ at, path, contents }: Laid): number {
  return at + LOCAL_BYTES + path.length + contents.length;
}

function archiveBytes(entries: Entries): number {
  let sum = END_BYTES;
  for (const [path, contents] of entries) {
    sum += LOCAL_BYTES + DIRECTORY_BYTES + 2 * path.length + contents.length;
  }
  return sum;
}

function sizeProblem(size: number): string | null {
  if (size > PACKAGE_LIMITS.packageBytes) {
    return `it has ${size} bytes, expected at most ${PACKAGE_LIMITS.packageBytes}`;
  }
  return size < END_BYTES ? `it has ${size} bytes, expected at least ${END_BYTES}` : null;
}

function place(path: string, at: number): string {
  return `entry ${showText(path)} at byte ${at}`;
}

function refusal(what: string): CodedError {
  return new CodedError('skill/invalid-package', `Cannot read package: ${what}`);
}

/** The values of a record's fields by their names. */
type ZipValues = Readonly<Record<string, number>>;

function recordBytes(fields: readonly ZipField[]): number {
  return fields.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Writes a record with the given values where the table has none. */
function encodeRecord(fields: readonly ZipField[], values: ZipValues): Buffer {
  const record = Buffer.alloc(recordBytes(fields));
  let at = 0;
  for (const { name, bytes, value } of fields) at = record.writeUIntLE(value ?? values[name] ?? 0, at, bytes);
  return record;
}

/** The value of one field of the record at a place; the caller has seen that the record is there. */
function fieldValue(fields: readonly ZipField[], name: string, bytes: Buffer, at: number): number {
  let offset = at;
  for (const field of fields) {
    if (field.name === name) return bytes.readUIntLE(offset, field.bytes);
    offset += field.bytes;
  }
  throw new TypeError(`Cannot read record: it has no field "${name}"`);
}

/** The first field of a record that differs from the table or the given values; null: none. */
function wrongField(
  fields: readonly ZipField[],
  values: ZipValues,
  bytes: Buffer,
  at: number,
): string | null {
  let offset = at;
  for (const { name, bytes: width, value, means } of fields) {
    const expected = value ?? values[name];
    const is = bytes.readUIntLE(offset, width);
    if (expected !== undefined && is !== expected) {
      return `its ${name} is ${is}, expected ${expected}${means === null ? '' : ` (${means})`}`;
    }
    offset += width;
  }
  return null;
}
