import { join } from 'node:path';

const NAME = 'palisade.sock';
/** What the address of a local socket can hold, on every system. */
const MAX_BYTES = 103;

/** Where the local socket of a state directory is; null where its path is too long for one. */
export function socketIn(stateDir: string): string | null {
  const path = join(stateDir, NAME);
  return Buffer.byteLength(path) > MAX_BYTES ? null : path;
}
