import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { withoutSourcePlaces } from '@palisade/wasm';
import { CodedError } from '../../../core/coded-error.ts';
import { shellWord } from '../../../core/hostile-text.ts';
import { orElse } from '../../../core/result.ts';
import { demandReadable } from '../../../invoke/skills/run-cases.ts';
import { PACKAGE_LIMITS } from '../../../skills/limits.ts';
import { openPackage } from '../../../skills/package/open-package.ts';
import { packSkill } from '../../../skills/package/pack.ts';
import type { Entries } from '../../../skills/package/skill-package.ts';
import { parseVersion } from '../../../skills/semver.ts';
import { VERSION } from '../../../version.ts';
import { type Bound, readNamed, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { collectFiles, manifestOf } from './folder.ts';

const MOST_ID_CHARS = 64;
const ID = /^[a-z0-9]+(?:[.-][a-z0-9]+)+$/;

/** Reads `ID` or `ID@VERSION`; without a version, the one is meant that fits. Whether it is installed is not checked here. */
export function parseReference(raw: string) {
  const [, id = '', version] = /^([^@]*)(?:@(.*))?$/s.exec(raw) ?? [];
  // Boundary: only a valid id and version are looked up, so that neither can become a path.
  if (id.length > MOST_ID_CHARS || !ID.test(id))
    throw wrongUsage(
      `Cannot use "${raw}" as a skill: "${id}" is not a valid id, expected one like acme.text`,
    );
  return { id, version: version === undefined ? undefined : readVersion(version) };
}

/** The version of a flag or a reference. */
export function readVersion(raw: string): string {
  if (parseVersion(raw) !== null) return raw;
  throw wrongUsage(`Cannot use the version "${raw}": expected one like 1.2.0`);
}

const { packageBytes } = PACKAGE_LIMITS;
const BOUND: Bound = {
  maxBytes: packageBytes,
  refuse: (name) => unfit(name, `it has more than ${packageBytes} bytes`),
};
const STANDARD_INPUT = '-';
/** How every archive that is not empty begins. */
const START = Buffer.from('PK\u0003\u0004', 'latin1');

/** The bytes of a package in a file or on standard input; never more than one past the limit. */
export async function readPackageFile(invocation: Invocation, given: string): Promise<Uint8Array> {
  const isPiped = given === STANDARD_INPUT;
  const path = isPiped ? given : resolve(invocation.edge.cwd, given);
  // A path that cannot be read is reported when it is read.
  const stats = isPiped ? null : orElse(() => statSync(path, { throwIfNoEntry: false }), null);
  if (stats === undefined) throw wrongUsage(`Cannot read "${given}": no such file, expected a package`);
  if (stats?.isDirectory() === true)
    throw wrongUsage(
      `Cannot read "${given}": it is a folder, expected a package file`,
      `Pack it with \`palisade skill pack ${shellWord(given)}\`.`,
    );
  const bytes = await readNamed(invocation, path, BOUND);
  // A file of another kind is reported as such, not as a broken archive.
  if (START.equals(bytes.subarray(0, START.length))) return bytes;
  const name = isPiped ? 'standard input' : `"${given}"`;
  throw unfit(name, 'it is not a skill package, expected a file that `palisade skill pack` made');
}

function unfit(name: string, is: string): CodedError {
  return new CodedError('skill/invalid-package', `Cannot read ${name}: ${is}`);
}

/** A package in a file, or as packing a folder would make it. */
export type PackageFile = Awaited<ReturnType<typeof openNamedPackage>>;

/** The package that an argument names, opened and with its signature verified. */
export async function openNamedPackage(invocation: Invocation, given: string) {
  const bytes = await readPackageFile(invocation, given);
  return { name: given, bytes, pkg: openPackage(bytes) };
}

/** The package that a folder makes; nothing is written. */
export function packFolder(folder: string): PackageFile {
  return packFiles(folder, collectFiles(folder, manifestOf(folder)));
}

/** The package of a folder for others: its modules do not say which lines they were made of, only names. */
export function packForOthers(folder: string): PackageFile & { readonly stripped: readonly string[] } {
  const stripped: string[] = [];
  const files = [...collectFiles(folder, manifestOf(folder))].map(([path, bytes]) => {
    const bare = path.endsWith('.wasm') ? withoutSourcePlaces(bytes) : bytes;
    if (bare !== bytes) stripped.push(path);
    return [path, bare] as const;
  });
  return { ...packFiles(folder, new Map(files)), stripped };
}

function packFiles(folder: string, files: Entries): PackageFile {
  try {
    const bytes = packSkill(files, { palisade: VERSION });
    const pkg = openPackage(bytes);
    // An audit refuses a package whose test cases cannot be read; its author hears of it before others have it.
    demandReadable(pkg);
    return { name: folder, bytes, pkg };
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'skill/invalid-package') throw error;
    // The remedy of the code is for those who received a package; this is its author.
    throw new CodedError(error.code, error.message, {
      remedy:
        'Correct what the message names (`palisade skill check` finds the rest), or build the modules again with `palisade skill build`.',
    });
  }
}

/** The package in a file, or that of a folder; by default of the current directory. */
export async function packageOf(invocation: Invocation): Promise<PackageFile> {
  const [given = '.'] = invocation.args;
  const path = resolve(invocation.edge.cwd, given);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? packFolder(realpathSync.native(path)) : openNamedPackage(invocation, given);
}
