/** Where set-aside files are kept, for a person to look at: bytes in files that nothing executes, a folder per call. */
import { appendFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../core/result.ts';

/** Boundary: calls that plant traps do not fill the disk. */
const MAX_FILES = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_FOLDERS = 100;

export type Keep = (
  about: { readonly path: string; readonly row: string; readonly kind: string; readonly target?: string },
  bytes: Uint8Array | null,
) => string | null;

/** Keeps what one call left, and returns the name of each below the state directory; null where it was not kept. */
export function quarantineOf(folder: string, callId: string): Keep {
  const name = callId.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 128);
  let files = 0;
  let left = MAX_BYTES;
  return (about, bytes) =>
    orElse(() => {
      // What a gateway kept that was killed in the meantime stays as it is.
      if (files === 0) files = makeFolder(folder, name);
      files += 1;
      left -= bytes?.length ?? 0;
      if (files > MAX_FILES || left < 0) return null;
      const file = String(files);
      // Exclusive: nothing that exists is overwritten or followed.
      if (bytes !== null) writeFileSync(join(folder, name, file), bytes, { mode: 0o400, flag: 'wx' });
      const line = `${JSON.stringify({ file: bytes === null ? null : file, ...about })}\n`;
      appendFileSync(join(folder, name, 'index.jsonl'), line, { mode: 0o600 });
      return bytes === null ? null : `quarantine/${name}/${file}`;
    }, null);
}

/** Returns the last number that is taken. */
function makeFolder(folder: string, name: string): number {
  mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  // Ids of calls begin with their time, so the first ones are the oldest.
  const extra = readdirSync(folder).sort().slice(0, -MAX_FOLDERS);
  for (const old of extra) if (old !== name) rmSync(join(folder, old), { recursive: true, force: true });
  return Math.max(0, ...readdirSync(join(folder, name)).map((file) => Number.parseInt(file, 10) || 0));
}
