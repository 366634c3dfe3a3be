/**
 * One set-up at a time per clone. The lock is a folder (making one is atomic) that names its owner's process; when that
 * process is gone the lock is stale and is taken over, under a second short-lived folder so that two waiters cannot
 * both do it. It is outside the tree because set-up replaces node_modules.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

const POLL_MS = 200;
const PATIENCE_MS = 15 * 60_000;
/** A folder without an owner is one whose maker died between two system calls, or is between them right now. */
const UNOWNED_MS = 10_000;

/** The path of the lock of a clone. */
export function lockPath(root) {
  const id = createHash('sha256').update(realpathSync(root)).digest('hex').slice(0, 16);
  return join(tmpdir(), `palisade-setup-${userInfo().uid}-${id}`);
}

/** Runs `work` while holding the lock of this clone; calls `onWait` once when another holds it. */
export async function withLock(root, onWait, work) {
  const path = lockPath(root);
  await acquire(path, onWait);
  const release = () => rmSync(path, { recursive: true, force: true });
  const stop = (signal) => {
    release();
    process.kill(process.pid, signal);
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work();
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    release();
  }
}

async function acquire(path, onWait) {
  const deadline = Date.now() + PATIENCE_MS;
  for (let waited = false; !tryMake(path); waited = true) {
    if (!waited) onWait();
    if (isStale(path)) takeOver(path);
    if (Date.now() > deadline)
      throw new Error(`Cannot set up: another set-up holds ${path}; remove it if there is none`);
    await new Promise((wake) => setTimeout(wake, POLL_MS));
  }
  writeFileSync(join(path, 'owner'), String(process.pid));
}

function tryMake(path) {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function takeOver(path) {
  const guard = `${path}.takeover`;
  if (!tryMake(guard)) {
    if (ageMs(guard) > UNOWNED_MS) rmSync(guard, { recursive: true, force: true });
    return;
  }
  // Looked at again under the guard: the lock may have a new and living owner by now.
  if (isStale(path)) rmSync(path, { recursive: true, force: true });
  rmSync(guard, { recursive: true, force: true });
}

function isStale(path) {
  const owner = ownerOf(path);
  return owner === undefined ? ageMs(path) > UNOWNED_MS : !isAlive(owner);
}

function ownerOf(path) {
  try {
    return Number(readFileSync(join(path, 'owner'), 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

function ageMs(path) {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
