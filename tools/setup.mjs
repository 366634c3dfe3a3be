/**
 * Makes a fresh clone ready, and an old one current: installs what the lock file says and builds what is stale. Asks
 * nothing, uses nothing from node_modules, and does nothing when everything is up to date. With --programs it also
 * installs the programs that the tests start: those of the system, and the compilers of the examples.
 */
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeCodeCache } from './code-cache.mjs';
import { run } from './command.mjs';
import { buildLauncher } from './launcher.mjs';
import { withLock } from './lock.mjs';
import { ensurePrograms, PROGRAMS, SERVICES } from './programs.mjs';
import { digestOf, readStamp, staleBuilds } from './stamp.mjs';

const OLDEST_NODE = [20, 19];

/** Brings the clone at `root` up to date; says each step through `say`. Throws when a step cannot be done. */
export async function setUp(root, say) {
  requireNode(process.versions.node);
  await withLock(
    root,
    () => say('waiting for another set-up'),
    async () => {
      await install(root, say);
      await buildStale(root, say);
      await launcher(root, say);
      await makeCodeCache(root, say);
    },
  );
}

/** Installs the compilers of the example skills; they have a folder and a lock file of their own. */
export function setUpCompilers(root, say) {
  return setUpFolder(root, 'packages/guest/tools', say);
}

/** Installs the third-party clients and the suite that the MCP door is tested with. */
export function setUpPeers(root, say) {
  return setUpFolder(root, 'tests/conformance/peers', say);
}

/** Installs the third-party MCP servers that are wrapped in tests. */
export function setUpServers(root, say) {
  return setUpFolder(root, 'tests/servers', say);
}

/** Installs what a folder with a lock file of its own names. */
export async function setUpFolder(root, path, say) {
  const folder = join(root, path);
  if (!existsSync(join(folder, 'package-lock.json'))) return;
  await withLock(
    folder,
    () => say(`waiting for another set-up of ${path}`),
    () => install(folder, (step) => say(`${step} of ${path}`)),
  );
}

/** Refuses a Node that is too old, and says which would do. */
export function requireNode(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  throw new Error(`Cannot set up: this is Node ${version}, expected ${OLDEST_NODE.join('.')} or newer`);
}

async function install(root, say) {
  const stamp = join(root, 'node_modules/.palisade-setup');
  const wanted = `${digestOf(root, ['package-lock.json'])} ${process.platform}-${process.arch}`;
  if (readStamp(stamp) === wanted) return;
  if (!isInstalled(root)) await installAnew(root, say);
  writeFileSync(stamp, `${wanted}\n`);
}

async function installAnew(root, say) {
  say('installing packages (npm ci)');
  const strict = await npm(root, ['ci']);
  if (strict.ok) return;
  // A lock file made from a registry that lacks packages of other platforms has no entry for them, and npm ci refuses
  // it whole. A plain install takes every version and digest the lock file has, and leaves the file as it is.
  if (!isUsageError(strict.output) || !lockAgrees(root))
    throw new Error(`Cannot install packages: npm ci failed\n${strict.output}`);
  say('the lock file lacks packages of other platforms; installing with npm install');
  const lenient = await npm(root, ['install', '--no-save']);
  if (!lenient.ok) throw new Error(`Cannot install packages: npm install failed\n${lenient.output}`);
}

function npm(root, words) {
  const all = [...words, '--no-audit', '--no-fund', '--loglevel=error'];
  const script = process.env.npm_execpath;
  const byNode = script !== undefined && /npm-cli\.[cm]?js$/.test(script);
  return run(byNode ? process.execPath : 'npm', byNode ? [script, ...all] : all, { cwd: root });
}

function isUsageError(output) {
  return output.includes('code EUSAGE');
}

/** Whether the lock file was made for the manifests as they are: each names the same dependencies. */
export function lockAgrees(root) {
  const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
  const { packages } = read('package-lock.json');
  const own = Object.keys(packages).filter((path) => !path.includes('node_modules'));
  const named = (manifest) =>
    ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].map((kind) =>
      Object.entries(manifest[kind] ?? {}).sort(),
    );
  return own.every(
    (path) =>
      JSON.stringify(named(packages[path])) === JSON.stringify(named(read(join(path, 'package.json')))),
  );
}

/**
 * Whether npm has installed what the lock file names: npm keeps its own record in node_modules, and packages for other
 * platforms are absent from it.
 */
export function isInstalled(root) {
  const record = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(record)) return false;
  const have = JSON.parse(readFileSync(record, 'utf8')).packages;
  const want = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const isPlaced = ([path, entry]) =>
    !path.startsWith('node_modules/') || entry.link || existsSync(join(root, path));
  const matches = ([path, entry]) =>
    have[path]
      ? have[path].version === entry.version && have[path].integrity === entry.integrity
      : entry.optional === true;
  return (
    Object.entries(want).every((each) => each[0] === '' || matches(each)) &&
    Object.keys(have).every((path) => want[path] !== undefined) &&
    Object.entries(have).every(isPlaced)
  );
}

async function buildStale(root, say) {
  const stale = staleBuilds(root);
  if (stale.length === 0) return;
  say(`building ${stale.join(', ')}`);
  const words = [join(root, 'tools/build.mjs'), '--locked', ...stale];
  const { ok, output } = await run(process.execPath, words, { cwd: root });
  if (!ok) throw new Error(`Cannot build ${stale.join(', ')}:\n${output}`);
}

/** Without a compiler all but the sandboxes of commands works; those refuse and name the fix. */
async function launcher(root, say) {
  if (!existsSync(join(root, 'packages/launcher/src/main.c'))) return;
  try {
    await buildLauncher(root, { say: (what) => say(`building ${what}`) });
  } catch (error) {
    say(error.message);
  }
}

const here = fileURLToPath(import.meta.url);
if (process.argv[1] && realpathSync(process.argv[1]) === here) {
  const say = (step) => console.log(`setup: ${step}`);
  try {
    const words = process.argv.slice(2);
    const root = words[0] === '--root' ? resolve(words[1] ?? '.') : dirname(dirname(here));
    // Those that only `npm run prove` needs take some hundred megabytes.
    const isWhole = process.env.PALISADE_VOLUME === '1';
    if (words.includes('--programs'))
      await ensurePrograms(say, isWhole ? [...PROGRAMS, ...SERVICES] : PROGRAMS);
    const whole = isWhole ? [setUpServers] : [];
    const folders = words.includes('--programs') ? [setUpCompilers, setUpPeers, ...whole] : [];
    await Promise.all([setUp, ...folders].map((each) => each(root, say)));
    say('ready');
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
