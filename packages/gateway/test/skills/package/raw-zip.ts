/** Writes ZIP files that need not be true: every field can be told to lie. Written apart from the writer under test. */
import { crc32 } from 'node:zlib';

export type RawHeader = {
  readonly signature: number;
  readonly version: number;
  readonly flags: number;
  readonly method: number;
  readonly time: number;
  readonly date: number;
  readonly crc: number;
  readonly stored: number;
  readonly size: number;
};

export type RawEntry = {
  readonly path: string | Buffer;
  readonly contents: Uint8Array;
  readonly local?: Partial<RawHeader>;
  readonly line?: Partial<RawHeader & { made: number; attributes: number; offset: number; disk: number }>;
  /** How the directory names it, where it names it otherwise. */
  readonly linePath?: string | Buffer;
  readonly extra?: Buffer;
  readonly lineExtra?: Buffer;
  readonly lineComment?: Buffer;
  /** Bytes before its header and after its contents. */
  readonly before?: Buffer;
  readonly after?: Buffer;
  /** It is in the directory only. */
  readonly isGhost?: boolean;
};

export type RawZip = {
  readonly entries: readonly RawEntry[];
  readonly leading?: Buffer;
  readonly beforeDirectory?: Buffer;
  readonly beforeEnd?: Buffer;
  readonly trailing?: Buffer;
  readonly comment?: Buffer;
  readonly end?: Partial<{ count: number; here: number; size: number; offset: number; disk: number }>;
};

const NOTHING = Buffer.alloc(0);

export function rawZip(zip: RawZip): Uint8Array {
  const pieces: Buffer[] = [zip.leading ?? NOTHING];
  const lines: Buffer[] = [];
  let at = (zip.leading ?? NOTHING).length;
  for (const entry of zip.entries) {
    const local = Buffer.concat([
      entry.before ?? NOTHING,
      localHeader(entry),
      entry.contents,
      entry.after ?? NOTHING,
    ]);
    lines.push(directoryLine(entry, at + (entry.before ?? NOTHING).length));
    if (entry.isGhost === true) continue;
    pieces.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(lines);
  pieces.push(zip.beforeDirectory ?? NOTHING, directory, zip.beforeEnd ?? NOTHING);
  pieces.push(endRecord(zip, directory.length, at + (zip.beforeDirectory ?? NOTHING).length));
  pieces.push(zip.comment ?? NOTHING, zip.trailing ?? NOTHING);
  return new Uint8Array(Buffer.concat(pieces));
}

/** The entries of a map, in its order. */
export function rawEntries(entries: Iterable<readonly [string, Uint8Array]>): RawEntry[] {
  return Array.from(entries, ([path, contents]) => ({ path, contents }));
}

function headerOf(contents: Uint8Array, lies: Partial<RawHeader>, signature: number): RawHeader {
  const { length } = contents;
  const crc = crc32(contents);
  return {
    signature,
    version: 10,
    flags: 0,
    method: 0,
    time: 0,
    date: 33,
    crc,
    stored: length,
    size: length,
    ...lies,
  };
}

function commonFields(header: RawHeader, path: Buffer, extra: Buffer): Buffer {
  const { version, flags, method, time, date, crc, stored, size } = header;
  return Buffer.concat([
    u16(version, flags, method, time, date),
    u32(crc, stored, size),
    u16(path.length, extra.length),
  ]);
}

function localHeader({ path, contents, local = {}, extra = NOTHING }: RawEntry): Buffer {
  const header = headerOf(contents, local, 0x04034b50);
  const name = Buffer.from(path);
  return Buffer.concat([u32(header.signature), commonFields(header, name, extra), name, extra]);
}

function directoryLine(entry: RawEntry, at: number): Buffer {
  const { path, contents, line = {}, linePath, lineExtra = NOTHING, lineComment = NOTHING } = entry;
  const header = headerOf(contents, line, 0x02014b50);
  const name = Buffer.from(linePath ?? path);
  return Buffer.concat([
    u32(header.signature),
    u16(line.made ?? 10),
    commonFields(header, name, lineExtra),
    u16(lineComment.length, line.disk ?? 0, 0),
    u32(line.attributes ?? 0, line.offset ?? at),
    name,
    lineExtra,
    lineComment,
  ]);
}

function endRecord({ entries, end = {}, comment = NOTHING }: RawZip, size: number, offset: number): Buffer {
  return Buffer.concat([
    u32(0x06054b50),
    u16(end.disk ?? 0, 0, end.here ?? entries.length, end.count ?? entries.length),
    u32(end.size ?? size, end.offset ?? offset),
    u16(comment.length),
  ]);
}

function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  values.forEach((value, index) => {
    bytes.writeUInt16LE(value, 2 * index);
  });
  return bytes;
}

function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => {
    bytes.writeUInt32LE(value, 4 * index);
  });
  return bytes;
}
