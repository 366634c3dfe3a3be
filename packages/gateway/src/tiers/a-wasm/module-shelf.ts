import { type Digest, digestBytes } from '../../core/digest.ts';
import type { WasmProgram } from '../../core/wasm.ts';

/** Of all modules that are kept; one that is longer alone is read anew at each call. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The bytes of modules that were found to be what their digest says; the one that was used longest ago goes first. */
export class ModuleShelf {
  readonly #mostBytes: number;
  readonly #modules = new Map<Digest, Uint8Array>();
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Boundary: what runs is what was approved, to the byte; null where it is something else. */
  async take({ sha256, read }: Pick<WasmProgram, 'sha256' | 'read'>): Promise<Uint8Array | null> {
    const kept = this.#modules.get(sha256);
    if (kept !== undefined) {
      this.#modules.delete(sha256);
      this.#modules.set(sha256, kept);
      return kept;
    }
    // Boundary: a copy, so that nobody changes what was looked at.
    const bytes = new Uint8Array(await read());
    if (digestBytes(bytes) !== sha256) return null;
    this.#keep(sha256, bytes);
    return bytes;
  }

  #keep(sha256: Digest, bytes: Uint8Array): void {
    if (this.#modules.has(sha256) || bytes.length > this.#mostBytes) return;
    this.#modules.set(sha256, bytes);
    this.#bytes += bytes.length;
    for (const [oldest, { length }] of this.#modules) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#modules.delete(oldest);
      this.#bytes -= length;
    }
  }
}
