/**
 * The file of a run that has not ended: what its gateway would restore from, for the case that it is killed. Only the
 * user of the gateway can write it, and still nothing in it is believed before it was checked: a file that is damaged
 * is not used in part.
 */
import { digestBytes } from '../../core/digest.ts';
import { PROTECTED_NAMES, type ProtectedName } from '../../core/protected.table.ts';
import type { Baseline, Copy } from './baseline.ts';
import { ENTRY_KINDS, type Entry } from './entry.ts';

export type KeptRun = {
  readonly call: string;
  /** The path that the workspace had, its device and inode, and when it was made, where that is known. */
  readonly workspace: string;
  readonly identity: string;
  readonly born: string;
  /** Rows that the call may write. */
  readonly allowed: readonly ProtectedName[];
  /** The process that ends all processes of the run, as the kernel tells it from others; empty where there is none. */
  readonly starter: string;
  readonly takenMs: number;
  readonly baseline: Baseline;
};

/** Copies have 64 MiB together, and Base64 adds a third. */
export const MAX_RUN_FILE_BYTES = 128 * 1024 * 1024;

const VERSION = 1;
const DIGEST_CHARS = 64;

/** The text of a run, with its digest on the first line. */
export function writeRun({ baseline, ...run }: KeptRun): string {
  const { copies, hints, repositories, isInRepository } = baseline;
  const body = JSON.stringify({
    version: VERSION,
    ...run,
    hints: [...hints],
    isInRepository,
    repositories: repositories.map(plainEntry),
    copies: [...copies.values()].map(({ entry, row, bytes, isFresh, home }) => ({
      entry: plainEntry(entry),
      row,
      bytes: bytes?.toString('base64') ?? null,
      isFresh,
      home,
    })),
  });
  return `${digestBytes(body)}\n${body}`;
}

function plainEntry(entry: Entry) {
  const { mtimeNs, ctimeNs, dev, ino } = entry;
  return { ...entry, mtimeNs: `${mtimeNs}`, ctimeNs: `${ctimeNs}`, dev: `${dev}`, ino: `${ino}` };
}

/** The run of a text; throws a sentence about what is wrong with it. */
export function readRun(text: string): KeptRun {
  const body = text.slice(DIGEST_CHARS + 1);
  // Boundary: a file that was cut off or altered is not used at all.
  if (text.slice(0, DIGEST_CHARS + 1) !== `${digestBytes(body)}\n`)
    throw new TypeError('its content does not have the digest of its first line');
  const raw = tableOf(JSON.parse(body));
  if (raw.version !== VERSION) throw new TypeError(`its version is not ${VERSION}`);
  const copies = listOf(raw.copies).map(readCopy);
  return {
    call: textOf(raw.call),
    workspace: textOf(raw.workspace),
    identity: textOf(raw.identity),
    born: textOf(raw.born),
    allowed: listOf(raw.allowed).map(rowOf),
    starter: textOf(raw.starter),
    takenMs: numberOf(raw.takenMs),
    baseline: {
      copies: new Map(copies.map((copy) => [copy.entry.path, copy])),
      hints: new Map(listOf(raw.hints).map(readHint)),
      repositories: listOf(raw.repositories).map(readEntry),
      isInRepository: raw.isInRepository !== false,
    },
  };
}

function readCopy(value: unknown): Copy {
  const raw = tableOf(value);
  const bytes = raw.bytes === null ? null : Buffer.from(textOf(raw.bytes), 'base64');
  // A gateway of before did not write it.
  const home = typeof raw.home === 'string' ? raw.home : '';
  return { entry: readEntry(raw.entry), row: rowOf(raw.row), bytes, isFresh: raw.isFresh !== false, home };
}

function readHint(value: unknown): readonly [string, ProtectedName] {
  const [path, row] = listOf(value);
  return [textOf(path), rowOf(row)];
}

function readEntry(value: unknown): Entry {
  const raw = tableOf(value);
  return {
    path: textOf(raw.path),
    kind: oneOf(ENTRY_KINDS, raw.kind),
    mode: numberOf(raw.mode),
    uid: numberOf(raw.uid),
    gid: numberOf(raw.gid),
    size: numberOf(raw.size),
    mtimeNs: BigInt(textOf(raw.mtimeNs)),
    ctimeNs: BigInt(textOf(raw.ctimeNs)),
    dev: BigInt(textOf(raw.dev)),
    ino: BigInt(textOf(raw.ino)),
    nlink: numberOf(raw.nlink),
    target: raw.target === null ? null : textOf(raw.target),
  };
}

function rowOf(value: unknown): ProtectedName {
  return oneOf(PROTECTED_NAMES, value);
}

function oneOf<const T>(known: readonly T[], value: unknown): T {
  const found = known.find((each) => each === value);
  return found ?? misfit('one of its names is not known');
}

function tableOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : misfit('an object is missing in it');
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : misfit('a list is missing in it');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : misfit('a text is missing in it');
}

function numberOf(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : misfit('a number is missing in it');
}

function misfit(what: string): never {
  throw new TypeError(what);
}
