/**
 * Builds what a release has from a copy of the sources, so that the clone keeps its development build. The copy is a
 * folder of the clone: the bundler names inputs relative to it, and these names must not depend on where a clone is.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative, sep } from 'node:path';
import { run } from '../command.mjs';
import { LICENCES } from '../licences.mjs';
import { makeSite } from '../site.mjs';
import { BUILDS } from '../stamp.mjs';
import { buildLaunchers, launchersFile } from './launchers.mjs';
import { PLATFORMS } from './launchers.table.mjs';

/** The folders below `packages` that a release has; the launchers come besides. */
export const RELEASED_PACKAGES = ['gateway', 'sdk', 'wasm', 'guest'];
const COPIED = [
  ...['package.json', 'package-lock.json', 'tsconfig.base.json', 'LICENSE', 'README.md', 'tools'],
  ...[...RELEASED_PACKAGES, 'launcher'].map((name) => `packages/${name}`),
];
const LEFT_OUT = new Set([
  ...['node_modules', 'test'],
  ...['dist', 'site'].flatMap((name) => [name, `${name}.new`, `${name}.old`]),
]);
const GENERATED = 'packages/gateway/src/tiers/process/launchers.generated.ts';

/** The build of the documentation. */
const SITE = 'site';

/** A new folder for a release, in the clone; whoever made it removes it. */
export function makeStage(root) {
  return mkdtempSync(join(root, '.release-'));
}

/**
 * Builds every package of a release below `stage`; gives their folders in the order of publication: what others need comes
 * first.
 */
export async function buildPackages(root, stage, options) {
  const { version, say, builds = Object.keys(BUILDS), platforms = PLATFORMS } = options;
  copySources(root, stage);
  say('building launchers');
  const launchers = await buildLaunchers(stage, join(stage, 'launchers'), version, platforms);
  const generated = join(stage, GENERATED);
  const released = launchers.map((each) => each.released);
  writeFileSync(generated, launchersFile(readFileSync(generated, 'utf8'), released));
  say(`building ${builds.join(', ')}`);
  // Its pages link to all of the clone.
  if (builds.includes(SITE)) await makeSite(root, join(stage, 'packages/gateway', SITE));
  const others = builds.filter((name) => name !== SITE);
  const words = [join(stage, 'tools/build.mjs'), ...others];
  const { ok, output } = await run(process.execPath, words, { cwd: stage });
  if (!ok) throw new Error(`Cannot build ${others.join(', ')}:\n${output}`);
  const folders = RELEASED_PACKAGES.filter((name) => name === 'guest' || builds.includes(name)).map((name) =>
    join(stage, 'packages', name),
  );
  for (const folder of folders) cpSync(join(stage, 'LICENSE'), join(folder, 'LICENSE'));
  completeGateway(stage, released, version);
  const all = [...launchers.map(({ folder }) => folder), ...folders.reverse()];
  for (const folder of all) setModes(folder);
  return { folders: all, launchers };
}

function copySources(root, stage) {
  const isSource = (path) => {
    const parts = relative(root, path).split(sep);
    // The compilers of the examples are installed below a package.
    return !parts.some((part) => LEFT_OUT.has(part)) || parts[0] === 'tools';
  };
  for (const path of COPIED)
    cpSync(join(root, path), join(stage, path), { recursive: true, filter: isSource });
  linkModules(root, stage);
}

/** Links to each installed package, but for our own: those are in the stage. */
function linkModules(root, stage) {
  const [from, to] = [join(root, 'node_modules'), join(stage, 'node_modules')];
  mkdirSync(join(to, '@palisade'), { recursive: true });
  for (const name of readdirSync(from))
    if (name !== '@palisade' && !name.startsWith('.'))
      symlinkSync(relative(to, join(from, name)), join(to, name));
  for (const name of RELEASED_PACKAGES)
    if (name !== 'gateway') symlinkSync(`../../packages/${name}`, join(to, '@palisade', name));
}

/** What only a released gateway has: the launchers as optional packages, and the licences where people look. */
function completeGateway(stage, released, version) {
  const folder = join(stage, 'packages/gateway');
  const path = join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  const optionalDependencies = Object.fromEntries(released.map((each) => [each.package, version]));
  writeFileSync(path, `${JSON.stringify({ ...manifest, optionalDependencies }, null, 2)}\n`);
  renameSync(join(folder, 'dist', LICENCES), join(folder, LICENCES));
  cpSync(join(stage, 'README.md'), join(folder, 'README.md'));
}

/** The modes in an archive are those of the files, which depend on the mask of whoever cloned. */
function setModes(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isSymbolicLink() || !existsSync(path)) continue;
    const isProgram = /^(#!|\x7fELF)/.test(
      entry.isFile() ? readFileSync(path).subarray(0, 4).toString('latin1') : '',
    );
    chmodSync(path, entry.isDirectory() || isProgram ? 0o755 : 0o644);
  }
}
