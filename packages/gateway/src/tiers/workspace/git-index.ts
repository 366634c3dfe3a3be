/**
 * The index of git as hostile bytes. Git trusts the paths in it: `git checkout .` writes an entry `.git/hooks/x` or
 * `../x` that `git add` would refuse. So each path is read as git reads it, in versions 2, 3 and 4, and what cannot be
 * read that way is not harmless. Time and memory are linear in the size of the file.
 */
import { parseGitConfig } from './git-config.ts';

const HEADER_BYTES = 12;
const STAT_BYTES = 40;
const EXTENDED = 0x4000;
/** Intent to add, and skip the work tree: git refuses every other bit of the extended flags. */
const KNOWN_EXTENDED = 0x6000;
const LENGTH_MASK = 0xfff;

/** A longer path cannot be opened. */
const MAX_PATH_BYTES = 4_096;

/** Git refuses these in a path, with the forms of `.git` that Windows and macOS take for it; one character for each byte. */
const REFUSED = /\/\/|(?:^|[/\\])(?:\.\.?|(?:\.git|git~1)[ .]*(?::[^/\\]*)?)(?=[/\\]|$)/i;
const IGNORED_BY_HFS = /\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf/g;

/** The length of an object name by the configuration of the repository; sha1 where it is not told. */
export function hashBytesOf(config: Buffer | null): number {
  const entries = config === null ? null : parseGitConfig(config.toString('latin1'));
  const format = entries?.findLast(({ name }) => name === 'extensions.objectformat');
  return format?.value === 'sha256' ? 32 : 20;
}

/** Whether git can read the index, and would not write outside of the work tree or into a repository by it. */
export function isHarmlessIndex(bytes: Buffer, hashBytes: number): boolean {
  const end = bytes.length - hashBytes;
  if (end < HEADER_BYTES || bytes.toString('latin1', 0, 4) !== 'DIRC') return false;
  const version = bytes.readUInt32BE(4);
  if (version < 2 || version > 4) return false;
  const starts = readEntries({ bytes, end, hashBytes, isPrefixed: version === 4 }, bytes.readUInt32BE(8));
  return starts !== null && agreesOnEntries(bytes, end, starts);
}

type Index = {
  readonly bytes: Buffer;
  readonly end: number;
  readonly hashBytes: number;
  /** Whether a path begins with a part of the path before, as in version 4. */
  readonly isPrefixed: boolean;
};

/** Where each entry begins that can be read by itself, else 0, and where the last one ends; null for one that is refused. */
function readEntries(index: Index, count: number): Uint32Array | null {
  const { bytes, end, hashBytes, isPrefixed } = index;
  // Boundary: the number in the header allocates no more than the file could hold.
  if (count > end / (STAT_BYTES + hashBytes)) return null;
  const starts = new Uint32Array(count + 1);
  const path = Buffer.alloc(MAX_PATH_BYTES);
  let pathBytes = 0;
  let at = HEADER_BYTES;
  // Boundary: paths that share long prefixes would take longer than their bytes; real ones share directories.
  let charsLeft = 4 * bytes.length;
  for (let number = 0; number < count; number += 1) {
    const entry = readEntry(index, at, pathBytes);
    if (entry === null || entry.kept + entry.length > MAX_PATH_BYTES) return null;
    const { nameAt, length, kept } = entry;
    bytes.copy(path, kept, nameAt, nameAt + length);
    pathBytes = kept + length;
    const from = startOfName(path, kept);
    charsLeft -= pathBytes - from;
    if (charsLeft < 0 || path[0] === 0x2f || isRefused(path.toString('latin1', from, pathBytes))) return null;
    starts[number] = kept === 0 ? at : 0;
    const nameEnd = nameAt + length;
    // Without prefixes an entry is filled up to a multiple of eight, with one NUL at least.
    at = isPrefixed ? nameEnd + 1 : at + ((nameEnd - at + 8) & ~7);
    if (at > end) return null;
  }
  starts[count] = at;
  return starts;
}

/** Where the name begins that a position is in, with the separator before it. */
function startOfName(path: Buffer, at: number): number {
  let from = at;
  while (from > 0 && path[from - 1] !== 0x2f && path[from - 1] !== 0x5c) from -= 1;
  return Math.max(0, from - 1);
}

function isRefused(path: string): boolean {
  return REFUSED.test(/[\xe2\xef]/.test(path) ? path.replace(IGNORED_BY_HFS, '') : path);
}

/** The bytes that an entry adds to its path, and how many it keeps of the path before. */
type IndexEntry = { readonly nameAt: number; readonly length: number; readonly kept: number };

function readEntry(
  { bytes, end, hashBytes, isPrefixed }: Index,
  at: number,
  before: number,
): IndexEntry | null {
  let nameAt = at + STAT_BYTES + hashBytes + 2;
  if (nameAt + 2 > end) return null;
  const flags = bytes.readUInt16BE(nameAt - 2);
  if ((flags & EXTENDED) !== 0) {
    if ((bytes.readUInt16BE(nameAt) & ~KNOWN_EXTENDED) !== 0) return null;
    nameAt += 2;
  }
  let kept = 0;
  if (isPrefixed) {
    const dropped = readVarint(bytes, nameAt);
    if (dropped === null || dropped.value > before) return null;
    kept = before - dropped.value;
    nameAt = dropped.to;
  }
  const told = flags & LENGTH_MASK;
  const nul = bytes.indexOf(0, nameAt);
  const length = told === LENGTH_MASK ? nul - nameAt : told - kept;
  // Boundary: git takes the length from the flags here and the first NUL there; both have to mean the same path.
  return nul === -1 || nul >= end || length < 0 || nameAt + length !== nul ? null : { nameAt, length, kept };
}

function readVarint(bytes: Buffer, start: number): { readonly value: number; readonly to: number } | null {
  let value = 0;
  for (let at = start; at < start + 4; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return null;
    value = (at === start ? 0 : (value + 1) * 128) + (byte & 0x7f);
    if (byte < 0x80) return { value, to: at + 1 };
  }
  return null;
}

/** Boundary: with several threads git begins to read where these extensions say; that has to be where the entries are. */
function agreesOnEntries(bytes: Buffer, end: number, starts: Uint32Array): boolean {
  const entriesEnd = starts.at(-1) ?? 0;
  for (let at = entriesEnd; at < end; ) {
    if (at + 8 > end) return false;
    const name = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32BE(at + 4);
    const next = at + 8 + size;
    // Git refuses an extension that it does not know, unless its name begins with a capital.
    if (next > end || !/^(?:[A-Z]|link$|sdir$)/.test(name)) return false;
    if (name === 'IEOT' && !agreesOnBlocks(bytes.subarray(at + 8, next), starts)) return false;
    at = next;
  }
  // Git looks for the end of the entries at a fixed distance from the end of the file, whatever is there.
  return [20, 32].every((hashBytes) => {
    const at = end - (8 + 4 + hashBytes);
    const isThere = at >= entriesEnd && bytes.toString('latin1', at, at + 4) === 'EOIE';
    return !isThere || bytes.readUInt32BE(at + 8) === entriesEnd;
  });
}

function agreesOnBlocks(table: Buffer, starts: Uint32Array): boolean {
  const count = starts.length - 1;
  let number = 0;
  if (table.length % 8 !== 4) return false;
  for (let at = 4; at < table.length; at += 8) {
    if (number >= count || starts[number] !== table.readUInt32BE(at)) return false;
    number += table.readUInt32BE(at + 4);
  }
  return number === count;
}
