/**
 * A jail shows a compiler what lies where its user can walk to, and not below /tmp, of which it has its own. What lies
 * elsewhere, as in a clone below /root or /tmp, is copied for the time of the build to a place that can be shown.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { isWithin } from '../../../core/within.ts';
import { isInReachOfAll } from '../../../tiers/process/machine.ts';
import type { FoundCompiler } from './find-compiler.ts';

export type ShownCompiler = { readonly found: FoundCompiler; readonly remove: () => void };

const STAGED_IN = '/var/tmp/palisade-build-';
const OF_THE_JAIL = ['/tmp', '/home/palisade'];
const [PACKAGES, GUEST] = ['node_modules', '@palisade/guest'];
const [ALL_READ, ALL_EXECUTE] = [0o755, 0o755];
/** Of the library, what compilers read. */
const GUEST_PARTS = ['package.json', 'asconfig.json', 'assembly', 'include', 'wit'];

/** The compiler as the jail can be shown it; what had to be copied is gone with `remove`. */
export function showToJail(found: FoundCompiler, folder: string): ShownCompiler {
  const outside = found.readOnly.filter((path) => !isWithin(path, folder));
  if (outside.every(canBeShown)) return { found, remove: () => undefined };
  const root = mkdtempSync(STAGED_IN);
  const remove = () => rmSync(root, { recursive: true, force: true });
  try {
    chmodSync(root, ALL_READ);
    return { found: stage(found, root, folder), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function canBeShown(path: string): boolean {
  return isInReachOfAll(path) && !OF_THE_JAIL.some((place) => isWithin(path, place));
}

function stage(found: FoundCompiler, root: string, folder: string): FoundCompiler {
  const packages = join(root, PACKAGES);
  const guest = join(packages, GUEST);
  for (const part of GUEST_PARTS) copy(join(found.guest, part), join(guest, part));
  const { from } = found.compiler;
  if ('program' in from) return { ...found, guest, packages, readOnly: [root] };
  const [script = ''] = found.lead;
  const node = canBeShown(found.command) ? found.command : copyProgram(found.command, root);
  // What lies in the skill is shown with it.
  if (isWithin(script, folder)) return { ...found, guest, packages, command: node, readOnly: [root, node] };
  const place = script.slice(0, -`/${from.package}/${from.script}`.length);
  for (const name of closureOf(place, from.package)) copy(join(place, name), join(packages, name));
  const lead = [join(packages, from.package, from.script)];
  return { ...found, guest, packages, lead, command: node, readOnly: [root, node] };
}

type Versions = Readonly<Record<string, string>>;
type Needs = { readonly dependencies?: Versions; readonly optionalDependencies?: Versions };

/** A package and all that it needs, as far as that lies beside it. */
function closureOf(place: string, first: string): ReadonlySet<string> {
  const names = new Set([first]);
  for (const name of names) {
    const manifest = JSON.parse(readFileSync(join(place, name, 'package.json'), 'utf8')) as Needs;
    // Programs for one system are dependencies that need not be there.
    const needed = { ...manifest.dependencies, ...manifest.optionalDependencies };
    for (const each of Object.keys(needed)) if (existsSync(join(place, each))) names.add(each);
  }
  return names;
}

function copy(from: string, to: string): void {
  // Boundary: links are copied as links, so that nothing comes along that lies elsewhere.
  if (existsSync(from)) cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}

function copyProgram(path: string, root: string): string {
  const copied = join(root, 'bin/node');
  mkdirSync(join(root, 'bin'));
  copyFileSync(path, copied);
  chmodSync(copied, ALL_EXECUTE);
  return copied;
}
