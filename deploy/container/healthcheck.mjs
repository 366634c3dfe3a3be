/**
 * Exits with 0 when the daemon of PALISADE_STATE accepts calls: it answers 200 at /readyz, at the address in its
 * daemon.json. Anything else, a daemon that drains included, is a sentence on standard error and the status 1.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const WAIT_MS = 4000;

try {
  const state = process.env.PALISADE_STATE ?? '/var/lib/palisade/state';
  const { url } = JSON.parse(readFileSync(join(state, 'daemon.json'), 'utf8'));
  const { status } = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(WAIT_MS) });
  if (status !== 200) throw new Error(`/readyz answers ${status}`);
} catch (error) {
  console.error(`palisade is not ready: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
