/**
 * Builds the launcher of each platform, and the package that it is installed from. Compilers get relative names, run in
 * the folder of the sources and inherit no environment, so the same compiler makes the same bytes in any directory.
 */
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../command.mjs';
import { COMPILER_ARGUMENTS, programFiles } from '../launcher.mjs';
import { LICENCES } from '../licences.mjs';
import { LAUNCHER_FILE, PLATFORMS, packageOf } from './launchers.table.mjs';

/** In the header of every ELF file. */
const MACHINE_AT = 18;
/** Debian's compilers call their parts by name. */
const ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };

/**
 * Builds the launchers from the sources below `root` into folders of packages below `outDir`. Gives for each the folder,
 * and what the gateway must know of it.
 */
export async function buildLaunchers(root, outDir, version, platforms = PLATFORMS) {
  return Promise.all(platforms.map((each) => buildOne(root, outDir, version, each)));
}

async function buildOne(root, outDir, version, target) {
  const { platform, arch, machine, compiler, headers, library } = target;
  const name = packageOf(target);
  const folder = join(outDir, name.replace('@palisade/', ''));
  const file = join(folder, LAUNCHER_FILE);
  const manifest = {
    name,
    version,
    description: `The launcher of palisade for ${platform}-${arch}: one static program.`,
    license: 'Apache-2.0',
    os: [platform],
    cpu: [arch],
    files: [LAUNCHER_FILE, LICENCES],
    preferUnplugged: true,
  };
  mkdirSync(folder, { recursive: true });
  const words = [...COMPILER_ARGUMENTS, ...headers.flatMap((each) => ['-idirafter', each])];
  const { ok, output } = await run(compiler, [...words, '-o', file, ...programFiles(root)], {
    cwd: root,
    env: ENVIRONMENT,
  });
  const isRight = ok && machineOf(file) === machine;
  if (ok && !isRight) throw new Error(failureOf(target, 'it makes programs for another processor'));
  if (!ok || !existsSync(library.text)) throw new Error(failureOf(target, output));
  chmodSync(file, 0o755);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const text = readFileSync(library.text, 'utf8').trim();
  writeFileSync(
    join(folder, LICENCES),
    `${library.name}, linked into the launcher (${library.licence})\n\n${text}\n`,
  );
  const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
  return { folder, target, released: { platform, arch, package: name, sha256 } };
}

/** Which processor a program is for, by the number in its header. */
function machineOf(file) {
  return readFileSync(file).readUInt16LE(MACHINE_AT);
}

function failureOf({ platform, arch, compiler, debian, library }, output) {
  const install = `apt-get install ${[...debian, library.debian].join(' ')}`;
  return `Cannot build the launcher of ${platform}-${arch} with ${compiler}: ${output.trim()}\nRun \`${install}\` on Debian (x64).`;
}

/** The text of the file that tells the gateway which launchers are its own. */
export function launchersFile(text, released) {
  const [head] = text.split('export const');
  return `${head}export const RELEASED: readonly ReleasedLauncher[] | null = ${JSON.stringify(released, null, 2)};\n`;
}
