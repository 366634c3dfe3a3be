/**
 * Builds the launcher, the C program that starts native commands: with the machine's compiler, or, without one, from
 * the file in a published package. It is built under another name and renamed, and rebuilt only when a source or the
 * build recipe has changed. Outside Linux there is nothing to build.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectRoot } from './check.mjs';
import { run } from './command.mjs';
import { digestOf, readStamp } from './stamp.mjs';

const SOURCES = 'packages/launcher/src';
const STAMP = 'packages/launcher/dist/.sources';
/** In the order in which they are tried: with musl the file is an eighth of the size, and each jail gets a copy. */
const COMPILERS = ['musl-gcc', 'cc', 'gcc', 'clang'];
/** Where Debian has the headers of the kernel, which musl-gcc does not search. */
const KERNEL_HEADERS = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
const STRICT = ['-Wall', '-Wextra', '-Werror', '-Wshadow', '-Wconversion'];
const FIX = 'install one (apt-get install gcc libc6-dev) and run the set-up again';

/** Where the launcher is, below the root of the clone. */
export const LAUNCHER = 'packages/launcher/dist/palisade-launcher';

/** The arguments of every compiler, besides the names of the files. */
export const COMPILER_ARGUMENTS = ['-std=c17', '-D_GNU_SOURCE', '-O2', '-static', '-s', ...STRICT];

/** Whether the launcher exists and is up to date with its source; true where none is needed. */
export function isLauncherCurrent(root, machine = thisMachine()) {
  if (machine.platform !== 'linux') return true;
  const stamp = readStamp(join(root, STAMP));
  if (stamp === undefined || !existsSync(join(root, LAUNCHER))) return false;
  return waysToMake(root, machine).some((way) => way.stamp === stamp);
}

/** Makes the launcher unless it is current; throws when it cannot be built. */
export async function buildLauncher(root, { say, machine = thisMachine() }) {
  if (isLauncherCurrent(root, machine)) return;
  const failures = [];
  for (const way of waysToMake(root, machine)) {
    const failure = await make(root, way);
    if (failure === undefined) {
      say(`launcher (${way.name})`);
      return;
    }
    failures.push(failure);
  }
  const what = failures.length > 0 ? failures.join('\n') : 'no C compiler and no prebuilt file was found';
  throw new Error(`Cannot build the launcher: ${what}, expected a C compiler that links statically: ${FIX}`);
}

/** The C files of the launcher, below the root of the clone. */
export function programFiles(root) {
  const names = readdirSync(join(root, SOURCES)).filter((name) => name.endsWith('.c'));
  return names.sort().map((name) => `${SOURCES}/${name}`);
}

function thisMachine() {
  return { platform: process.platform, arch: process.arch, path: process.env.PATH ?? '' };
}

/** The compiler first, because it makes what the source says; each way with the stamp that it leaves. */
function waysToMake(root, { platform, arch, path }) {
  const source = digestOf(root, [SOURCES]);
  const folders = path.split(delimiter).filter((folder) => folder.startsWith('/'));
  const names = COMPILERS.flatMap((name) => folders.map((folder) => ({ name, file: join(folder, name) })));
  const found = COMPILERS.map((each) => names.find(({ name, file }) => name === each && existsSync(file)));
  const prebuilt = join(root, `packages/launcher/prebuilt/${platform}-${arch}/palisade-launcher`);
  const ways = found
    .filter((compiler) => compiler !== undefined)
    .map(({ name, file }) => {
      const words = [...COMPILER_ARGUMENTS, ...headersFor(name, arch)];
      const into = (out) => run(file, [...words, '-o', out, ...programFiles(root)], { cwd: root });
      return { name, stamp: digest(`${source} ${arch} ${name} ${words.join(' ')}`), into };
    });
  if (existsSync(prebuilt)) {
    const copy = async (out) => {
      copyFileSync(prebuilt, out);
      return { ok: true, output: '' };
    };
    const stamp = digest(`${source} ${arch} prebuilt ${digest(readFileSync(prebuilt))}`);
    ways.push({ name: 'prebuilt', stamp, into: copy });
  }
  return ways;
}

function headersFor(compiler, arch) {
  if (compiler !== 'musl-gcc') return [];
  const folders = ['/usr/include', `/usr/include/${KERNEL_HEADERS[arch] ?? ''}`];
  return folders.flatMap((folder) => ['-idirafter', folder]);
}

async function make(root, way) {
  const place = join(root, LAUNCHER);
  // Two builds at once make two files; whichever is renamed last, the file is complete.
  const fresh = `${place}.${process.pid}.new`;
  mkdirSync(join(place, '..'), { recursive: true });
  try {
    const { ok, output } = await way.into(fresh);
    if (!ok) return `${way.name} failed\n${output.trim()}`;
    chmodSync(fresh, 0o755);
    renameSync(fresh, place);
    writeFileSync(join(root, STAMP), `${way.stamp}\n`);
    return undefined;
  } finally {
    rmSync(fresh, { force: true });
  }
}

function digest(content) {
  return createHash('sha256').update(content).digest('hex');
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) {
  try {
    await buildLauncher(projectRoot, { say: (what) => console.log(`build: ${what}`) });
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
