/**
 * The names of a workspace with their facts and with where the content of each file is kept, as columns: a tree of
 * twenty thousand names is read, compared and written in a few milliseconds. A file of trees begins with the digest of
 * all that follows, and one that was cut off or altered is not used at all.
 */
import { digestBytes } from '../../core/digest.ts';
import type { Json } from '../../core/json.ts';
import { ENTRY_KINDS, type Entry } from '../workspace/names.ts';

/** Where the content of a file is kept. */
export type Pointer = {
  /** The name of a file in the folder of the workspace. */
  readonly file: string;
  readonly offset: number;
  /** The CRC-32 of the content; -1 where it is a clone, which shares the blocks of the original. */
  readonly sum: number;
  /** When it was copied. */
  readonly copiedMs: number;
};

export type TreeRow = { readonly entry: Entry; readonly pointer: Pointer | null };

const EXACT = ['dev', 'ino', 'mtimeNs', 'ctimeNs'] as const;
const PLAIN = ['mode', 'uid', 'gid', 'size', 'nlink'] as const;
/** The kind, and the pointer: its file counted from one, with zero for none. */
const OTHER = ['kind', 'file', 'offset', 'sum', 'copiedMs'] as const;

type Columns = Readonly<Record<(typeof EXACT)[number], BigInt64Array>> &
  Readonly<Record<(typeof PLAIN)[number] | (typeof OTHER)[number], Float64Array>>;

type TreeParts = {
  readonly paths: readonly string[];
  readonly columns: Columns;
  /** The targets of symbolic links, by the number of their row. */
  readonly targets: ReadonlyMap<number, string>;
  readonly files: readonly string[];
};

/** Rows by their path; immutable. */
export class Tree {
  readonly #parts: TreeParts;
  #rows: ReadonlyMap<string, number> | null = null;

  constructor(parts: TreeParts) {
    this.#parts = parts;
  }

  static of(rows: Iterable<TreeRow>): Tree {
    const all = [...rows];
    const columns = newColumns(all.length);
    const targets = new Map<number, string>();
    const files = new Map<string, number>();
    for (const [row, { entry, pointer }] of all.entries()) {
      fillRow(columns, row, entry);
      columns.kind[row] = ENTRY_KINDS.indexOf(entry.kind);
      if (entry.target !== null) targets.set(row, entry.target);
      if (pointer === null) continue;
      const file = files.get(pointer.file) ?? files.size + 1;
      files.set(pointer.file, file);
      columns.file[row] = file;
      columns.offset[row] = pointer.offset;
      columns.sum[row] = pointer.sum;
      columns.copiedMs[row] = pointer.copiedMs;
    }
    return new Tree({
      paths: all.map(({ entry }) => entry.path),
      columns,
      targets,
      files: [...files.keys()],
    });
  }

  get size(): number {
    return this.#parts.paths.length;
  }

  /** The files that the contents of this tree are kept in. */
  get files(): readonly string[] {
    return this.#parts.files;
  }

  get paths(): readonly string[] {
    return this.#parts.paths;
  }

  /** The number of the row of a path. */
  rowOf(path: string): number | undefined {
    this.#rows ??= new Map(this.#parts.paths.map((each, row) => [each, row]));
    return this.#rows.get(path);
  }

  /** Whether the row tells of the same name in the same state; the times of a directory tell of its names alone. */
  isSame(row: number, entry: Entry): boolean {
    const { columns } = this.#parts;
    if (entry.kind === 'directory')
      return (
        columns.ino[row] === entry.ino &&
        columns.mode[row] === entry.mode &&
        columns.kind[row] === DIRECTORY &&
        columns.dev[row] === entry.dev
      );
    return (
      columns.ino[row] === entry.ino &&
      columns.ctimeNs[row] === entry.ctimeNs &&
      columns.mtimeNs[row] === entry.mtimeNs &&
      columns.size[row] === entry.size &&
      columns.mode[row] === entry.mode &&
      columns.dev[row] === entry.dev
    );
  }

  /** When the content of a row was copied; zero where it was not. */
  copiedMsAt(row: number): number {
    return at(this.#parts.columns.copiedMs, row);
  }

  pointerAt(row: number): Pointer | null {
    const { columns, files } = this.#parts;
    const file = files[at(columns.file, row) - 1];
    if (file === undefined) return null;
    return {
      file,
      offset: at(columns.offset, row),
      sum: at(columns.sum, row),
      copiedMs: at(columns.copiedMs, row),
    };
  }

  entryAt(row: number): Entry {
    const { paths, columns, targets } = this.#parts;
    return {
      path: paths[row] ?? '',
      kind: ENTRY_KINDS[at(columns.kind, row)] ?? 'unknown',
      mode: at(columns.mode, row),
      uid: at(columns.uid, row),
      gid: at(columns.gid, row),
      size: at(columns.size, row),
      nlink: at(columns.nlink, row),
      mtimeNs: columns.mtimeNs[row] ?? 0n,
      ctimeNs: columns.ctimeNs[row] ?? 0n,
      dev: columns.dev[row] ?? 0n,
      ino: columns.ino[row] ?? 0n,
      target: targets.get(row) ?? null,
    };
  }

  /** The row of a path; null where it has none. */
  find(path: string): TreeRow | null {
    const row = this.rowOf(path);
    return row === undefined ? null : { entry: this.entryAt(row), pointer: this.pointerAt(row) };
  }

  *rows(): Generator<TreeRow> {
    for (let row = 0; row < this.size; row += 1)
      yield { entry: this.entryAt(row), pointer: this.pointerAt(row) };
  }

  /** Paths have no line breaks: `nameText` escapes them. */
  encode(): { readonly about: Json; readonly bytes: Buffer } {
    const { paths, columns, targets, files } = this.#parts;
    const text = Buffer.from(paths.join('\n'));
    const numbers = [...EXACT, ...PLAIN, ...OTHER].map((name) => Buffer.from(columns[name].buffer));
    const about = { count: paths.length, textBytes: text.length, targets: [...targets], files: [...files] };
    return { about, bytes: Buffer.concat([...numbers, text]) };
  }

  static decode(rawAbout: unknown, bytes: Buffer): Tree {
    const about = rawAbout as TreeAbout;
    const columns = newColumns(about.count);
    let from = 0;
    for (const name of [...EXACT, ...PLAIN, ...OTHER]) {
      const column = new Uint8Array(columns[name].buffer);
      column.set(bytes.subarray(from, from + column.length));
      from += column.length;
    }
    const text = bytes.subarray(from, from + about.textBytes).toString();
    const paths = about.count === 0 ? [] : text.split('\n');
    // Boundary: a tree whose parts do not belong together is not used.
    if (paths.length !== about.count) throw new TypeError('its names and facts differ in number');
    return new Tree({ paths, columns, targets: new Map(about.targets), files: about.files });
  }
}

type TreeAbout = {
  readonly count: number;
  readonly textBytes: number;
  readonly targets: readonly (readonly [number, string])[];
  readonly files: readonly string[];
};

/** Name by name, for speed: there are as many rows as files. */
function fillRow(columns: Columns, row: number, entry: Entry): void {
  columns.dev[row] = entry.dev;
  columns.ino[row] = entry.ino;
  columns.mtimeNs[row] = entry.mtimeNs;
  columns.ctimeNs[row] = entry.ctimeNs;
  columns.mode[row] = entry.mode;
  columns.uid[row] = entry.uid;
  columns.gid[row] = entry.gid;
  columns.size[row] = entry.size;
  columns.nlink[row] = entry.nlink;
}

function newColumns(count: number): Columns {
  const exact = EXACT.map((name) => [name, new BigInt64Array(count)] as const);
  const plain = [...PLAIN, ...OTHER].map((name) => [name, new Float64Array(count)] as const);
  return Object.fromEntries([...exact, ...plain]) as unknown as Columns;
}

function at(column: Float64Array, row: number): number {
  return column[row] ?? 0;
}

const DIGEST_CHARS = 64;
const DIRECTORY = ENTRY_KINDS.indexOf('directory');

/** A header and trees as one file. */
export function writeTrees(header: Json, trees: readonly Tree[]): Buffer {
  const parts = trees.map((tree) => tree.encode());
  const about = parts.map(({ about, bytes }) => ({ about, bytes: bytes.length }));
  const head = Buffer.from(`${JSON.stringify({ header, trees: about })}\n`);
  const body = Buffer.concat([head, ...parts.map(({ bytes }) => bytes)]);
  return Buffer.concat([Buffer.from(`${digestBytes(body)}\n`), body]);
}

/** What a file of trees has; throws a sentence about what is wrong with it. */
export function readTrees(file: Buffer): { readonly header: unknown; readonly trees: readonly Tree[] } {
  const body = file.subarray(DIGEST_CHARS + 1);
  // Boundary: a file that was cut off or altered is not used at all.
  if (file.subarray(0, DIGEST_CHARS + 1).toString('latin1') !== `${digestBytes(body)}\n`)
    throw new TypeError('its content does not have the digest of its first line');
  const end = body.indexOf(0x0a);
  const { header, trees } = JSON.parse(body.subarray(0, end).toString()) as {
    readonly header: unknown;
    readonly trees: readonly { readonly about: unknown; readonly bytes: number }[];
  };
  let from = end + 1;
  const read = trees.map(({ about, bytes }) => {
    const tree = Tree.decode(about, body.subarray(from, from + bytes));
    from += bytes;
    return tree;
  });
  return { header, trees: read };
}
