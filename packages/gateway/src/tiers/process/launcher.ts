/**
 * Finds the program that starts commands. A clone has the one that its set-up built. A release has a list of the
 * launchers that were built with it, and starts nothing else: what lies in the place of a launcher but is not on the
 * list is refused. No search path and no variable of the environment leads to a launcher.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { orElse, type Result, reject } from '../../core/result.ts';
import { VERSION } from '../../version.ts';
import { RELEASED } from './launchers.generated.ts';
import { findProgram, type Program } from './machine.ts';
import { type Lack, type Launchers, type ProbeOptions, type ReleasedLauncher, shortDigest } from './tier.ts';

/** The name of the file in a launcher's package. */
const FILE = 'palisade-launcher';
const PACKAGES = 'node_modules';

const NOT_BUILT = {
  why: 'the launcher is not built',
  fix: 'Run `npm run setup` in the project; it needs a C compiler: apt-get install gcc libc6-dev.',
};
const NO_LINUX = {
  why: 'commands need Linux',
  fix: 'Run palisade on Linux, or in a virtual machine with Linux.',
};

/** Where this gateway has its launcher; `url` is that of any file of it, in a folder of packages or in a clone. */
export function launchersOf(url: string, built: string, released = RELEASED): Launchers {
  if (released === null) return [fileURLToPath(new URL(built, url))];
  return { released, folders: packageFoldersAbove(dirname(fileURLToPath(url))) };
}

/** The folders in which npm and its like put what a package needs: the nearest first. */
function packageFoldersAbove(folder: string): readonly string[] {
  const above = dirname(folder);
  return [join(folder, PACKAGES), ...(above === folder ? [] : packageFoldersAbove(above))];
}

/** The launcher of this machine; there is none for systems other than Linux. */
export function findLauncher(
  options: Pick<ProbeOptions, 'launchers' | 'platform' | 'arch'>,
): Result<Program, Lack> {
  const { launchers, platform = process.platform, arch = process.arch } = options;
  if (platform !== 'linux') return reject(NO_LINUX);
  if (!('released' in launchers)) return findProgram(launchers, NOT_BUILT);
  const { released, folders } = launchers;
  const wanted = released.find((each) => each.platform === platform && each.arch === arch);
  if (wanted !== undefined) return findReleased(wanted, folders);
  const has = released.map((each) => `${each.platform}-${each.arch}`).join(' and ');
  return reject({
    why: `there is no launcher for ${platform}-${arch}`,
    fix: `Run palisade on ${has}, or in a clone, where \`npm run setup\` builds the launcher.`,
  });
}

function findReleased(wanted: ReleasedLauncher, folders: readonly string[]): Result<Program, Lack> {
  const install = `Run \`${installLine(wanted, folders)}\`.`;
  const places = folders.map((folder) => join(folder, wanted.package, FILE));
  const found = findProgram(places, { why: `${wanted.package} is not installed`, fix: install });
  // Boundary: only the program that was built with this gateway starts commands.
  if (!found.ok || found.value.sha256 === wanted.sha256) return found;
  const { path, sha256 } = found.value;
  const version = versionBeside(path);
  const isOther = version !== null && version !== VERSION;
  const why = isOther
    ? `"${path}" is of version ${version}, expected ${VERSION}`
    : `"${path}" is not the launcher of palisade ${VERSION}: its sha256 is ${shortDigest(sha256)}, expected ${shortDigest(wanted.sha256)}`;
  return reject({ why, fix: isOther ? install : `${remove(path)} ${install}` });
}

/** npm does not look into a package that it has installed already. */
function remove(path: string): string {
  return `Remove ${dirname(path)} and find out who changed it.`;
}

/** npm installs global packages in `lib` below its prefix, and those of a project beside the manifest. */
function installLine({ package: name }: ReleasedLauncher, folders: readonly string[]): string {
  const own = folders.find((folder) => orElse(() => readFileSync(join(folder, MANIFEST)), null) !== null);
  const above = dirname(own ?? folders[0] ?? '');
  const where = above.endsWith('/lib') ? '-g' : `--prefix ${above}`;
  return `npm install ${where} ${name}@${VERSION}`;
}

const MANIFEST = 'palisade/package.json';

function versionBeside(path: string): string | null {
  const read = (): unknown => JSON.parse(readFileSync(join(dirname(path), 'package.json'), 'utf8')).version;
  const version = orElse(read, null);
  return typeof version === 'string' && /^[\w.+-]{1,64}$/.test(version) ? version : null;
}
