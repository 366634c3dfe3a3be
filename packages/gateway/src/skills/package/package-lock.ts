import { fromBase64, toHex } from '@palisade/sdk';
import type { Json } from '../../core/json.ts';
import { parseStrict } from '../../core/strict-json.ts';
import { LOCK_LIMITS } from '../limits.ts';
import { memberOf, showText, textOf } from './skill-package.ts';

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

type LockResult =
  | { readonly ok: true; readonly packages: readonly LockedPackage[] }
  | { readonly ok: false; readonly what: string };

const FOLDER = 'node_modules/';
const NAME = /^(?:@[a-z0-9._~-]+\/)?[a-z0-9._~-]+$/i;
const MAX_NAME_CHARS = 214;
const MAX_VERSION_CHARS = 256;
const SHA512_BYTES = 64;

/** What package-lock.json says was installed, each once, without what served development only. */
export function readLock(bytes: Uint8Array): LockResult {
  const parsed = parseStrict(bytes, LOCK_LIMITS);
  if (!parsed.ok) return { ok: false, what: parsed.message };
  const packages = memberOf(parsed.value, 'packages');
  if (packages === null || typeof packages !== 'object' || Array.isArray(packages)) {
    return { ok: false, what: 'it has no "packages", expected lockfileVersion 2 or later' };
  }
  const found = new Map<string, LockedPackage>();
  for (const [place, entry] of Object.entries(packages)) {
    if (!isInstalled(place, entry)) continue;
    const locked = lockedOf(place, entry);
    if (locked === null) {
      return {
        ok: false,
        what: `${showText(place)} has no name and version of a package`,
      };
    }
    if (!found.has(locked.purl)) found.set(locked.purl, locked);
  }
  return { ok: true, packages: [...found.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1)) };
}

/** The root and the folders of a workspace are the author's own; links lead to them. */
function isInstalled(place: string, entry: Json): boolean {
  return place.includes(FOLDER) && memberOf(entry, 'link') !== true && memberOf(entry, 'dev') !== true;
}

function lockedOf(place: string, entry: Json): LockedPackage | null {
  // A package that was installed under another name has its own name in the entry.
  const name = textOf(entry, 'name') ?? place.slice(place.lastIndexOf(FOLDER) + FOLDER.length);
  const version = textOf(entry, 'version');
  if (!NAME.test(name) || name.length > MAX_NAME_CHARS) return null;
  if (version === null || version === '' || version.length > MAX_VERSION_CHARS) return null;
  const purl = `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
  return { name, version, purl, sha512: sha512Of(textOf(entry, 'integrity') ?? '') };
}

function sha512Of(integrity: string): string | null {
  const encoded = integrity.split(' ').find((each) => each.startsWith('sha512-'));
  const digest = encoded === undefined ? null : fromBase64(encoded.slice('sha512-'.length));
  return digest?.length === SHA512_BYTES ? toHex(digest) : null;
}
