import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** The bare peer of every durable write: append one record to a file and flush it, nothing else. */
export class BareLog {
  readonly #fd: number;
  readonly #path: string;
  readonly #record: Buffer;

  constructor(scratch: string, record: string) {
    this.#path = join(scratch, 'bare.log');
    this.#fd = openSync(this.#path, 'a', 0o600);
    this.#record = Buffer.from(`${record}\n`);
  }

  append(): void {
    writeSync(this.#fd, this.#record);
    fdatasyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
    rmSync(this.#path);
  }
}
