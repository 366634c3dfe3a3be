import { fromBase64, toHex } from '@palisade/sdk';
import { anyText, looseObject, readJson, record, type Shaped } from '../../core/json-shape.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import { flag, optional, withDefault } from '../../core/shape.ts';
import { formatProblem } from '../../core/shape-problem.ts';
import { LOCK_LIMITS } from '../limits.ts';
import { type Entries, showText } from './skill-package.ts';

/** The file in which npm keeps what it installed. */
export const LOCK_FILE = 'package-lock.json';

/** A package of npm that a skill was built with. */
export type LockedPackage = {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  /** Of its archive, in hexadecimal. */
  readonly sha512: string | null;
};

const FOLDER = 'node_modules/';
const NAME = /^(?:@[a-z0-9._~-]+\/)?[a-z0-9._~-]+$/i;
const MAX_NAME_CHARS = 214;
const MAX_VERSION_CHARS = 256;
const SHA512_BYTES = 64;

const PACKAGE = looseObject({
  name: optional(anyText),
  version: optional(anyText),
  integrity: optional(anyText),
  link: withDefault(flag, false),
  dev: withDefault(flag, false),
});
const LOCK = looseObject({ packages: optional(record(PACKAGE)) });

/** What package-lock.json says was installed, each once, without what served development only; none without one. */
export function lockedPackages(entries: Entries): Result<readonly LockedPackage[], string> {
  const bytes = entries.get(LOCK_FILE);
  if (bytes === undefined) return accept([]);
  const lock = readJson(bytes, LOCK_LIMITS, LOCK);
  if (!lock.ok) return reject(formatProblem(lock.problem, LOCK_FILE));
  const { packages } = lock.value;
  if (packages === null) return reject(`${LOCK_FILE} has no "packages", expected lockfileVersion 2 or later`);
  const found = new Map<string, LockedPackage>();
  for (const [place, entry] of Object.entries(packages)) {
    // The root and the folders of a workspace are the author's own; links lead to them.
    if (!place.includes(FOLDER) || entry.link || entry.dev) continue;
    const locked = lockedOf(place, entry);
    if (locked === null)
      return reject(`${LOCK_FILE}: ${showText(place)} has no name and version of a package`);
    if (!found.has(locked.purl)) found.set(locked.purl, locked);
  }
  return accept([...found.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1)));
}

function lockedOf(place: string, entry: Shaped<typeof PACKAGE>): LockedPackage | null {
  // A package that was installed under another name has its own name in the entry.
  const name = entry.name ?? place.slice(place.lastIndexOf(FOLDER) + FOLDER.length);
  const version = entry.version ?? '';
  if (!NAME.test(name) || name.length > MAX_NAME_CHARS) return null;
  if (version === '' || version.length > MAX_VERSION_CHARS) return null;
  const purl = `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
  return { name, version, purl, sha512: sha512Of(entry.integrity ?? '') };
}

function sha512Of(integrity: string): string | null {
  const encoded = integrity.split(' ').find((each) => each.startsWith('sha512-'));
  const digest = encoded === undefined ? null : fromBase64(encoded.slice('sha512-'.length));
  return digest?.length === SHA512_BYTES ? toHex(digest) : null;
}
