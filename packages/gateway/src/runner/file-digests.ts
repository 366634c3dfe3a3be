import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { Clock } from '../core/clock.ts';
import type { Digest } from '../core/digest.ts';
import type { FileFacts } from './file-facts.ts';

const CHUNK_BYTES = 1024 * 1024;
const MAX_KEPT = 512;
/** A file written this shortly ago can be written again without a change of its times. */
const FRESH_NS = 2_000_000_000n;

/** Digests of files, remembered for as long as device, inode, size and both times stay the same. */
export class FileDigests {
  readonly #kept = new Map<string, Digest>();
  readonly #clock: Pick<Clock, 'nowMs'>;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** The digest of the open file that these facts are of. It reads no further than the size in the facts. */
  of(fd: number, facts: FileFacts): Digest {
    const { dev, ino, sizeBytes, mtimeNs, ctimeNs } = facts;
    const key = [dev, ino, sizeBytes, mtimeNs, ctimeNs].join(':');
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const digest = digestFile(fd, Number(sizeBytes));
    const ageNs = BigInt(Math.floor(this.#clock.nowMs())) * 1_000_000n - ctimeNs;
    if (ageNs > FRESH_NS) this.#keep(key, digest);
    return digest;
  }

  #keep(key: string, digest: Digest): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, digest);
  }
}

function digestFile(fd: number, sizeBytes: number): Digest {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK_BYTES, sizeBytes)));
  let at = 0;
  while (at < sizeBytes) {
    const count = readSync(fd, chunk, 0, Math.min(chunk.length, sizeBytes - at), at);
    if (count === 0) break;
    hash.update(chunk.subarray(0, count));
    at += count;
  }
  return hash.digest('hex') as Digest;
}
