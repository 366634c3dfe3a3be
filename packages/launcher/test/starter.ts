/** Speaks to a starter as the gateway does: frames out, lines in. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { sanitizerEnv } from './launch.ts';

const NONE = Buffer.alloc(0);

/** A request: how long it is, how long its strings are, the strings with a NUL after each, bytes. */
export function frame(strings: readonly string[], bytes: Buffer = NONE): Buffer {
  const text = Buffer.from(strings.map((each) => `${each}\0`).join(''), 'latin1');
  return rawFrame(text.length, Buffer.concat([text, bytes]));
}

/** A request with any claimed length of strings. */
export function rawFrame(text: number, rest: Buffer, length: number = rest.length + 4): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(length, 0);
  head.writeUInt32LE(text, 4);
  return Buffer.concat([head, rest]);
}

export type StarterEnd = {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
};

/** One starter and its replies so far. */
export class Starter {
  readonly child: ChildProcess;
  readonly socket: Socket;
  readonly end: Promise<StarterEnd>;
  readonly lines: string[] = [];
  #rest = '';
  #stderr = '';
  #waiting: (() => void)[] = [];

  /** With `handles`, descriptor 4 is what the starter passes listeners on by. */
  constructor(launcher: string, argv0 = 'palisade-launcher', handles: readonly 'pipe'[] = []) {
    this.child = spawn(launcher, ['mode=serve', 'requests=3', ...handles.map(() => 'handles=4')], {
      argv0,
      cwd: '/',
      detached: true,
      env: sanitizerEnv,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', ...handles],
    });
    this.socket = this.child.stdio[3] as Socket;
    this.socket.on('data', (chunk) => this.#take(chunk));
    // A starter that refuses a request does not read the rest of it.
    this.socket.on('error', () => {});
    this.child.stderr?.on('data', (chunk) => {
      this.#stderr += chunk;
    });
    this.end = new Promise((done) => {
      this.child.once('close', (code, signal) => {
        this.#wake();
        done({ code, signal, stderr: this.#stderr });
      });
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  send(strings: readonly string[], bytes: Buffer = NONE): void {
    this.socket.write(frame(strings, bytes));
  }

  /** The fields of the first line that begins so; fails if the starter ends before it writes that. */
  async replies(beginning: string): Promise<readonly string[]> {
    for (;;) {
      const line = this.lines.find((each) => `${each} `.startsWith(`${beginning} `));
      if (line !== undefined) return line.split(' ');
      if (this.child.exitCode !== null)
        throw new Error(`it ended before it wrote ${beginning}: ${this.lines}`);
      await new Promise<void>((wake) => {
        this.#waiting.push(wake);
      });
    }
  }

  /** The descriptors that the starter has open. */
  open(): readonly string[] {
    return readdirSync(`/proc/${this.pid}/fd`);
  }

  /** Reads the gateway's ends of a run to their end, after it has taken them. */
  async outputs(id: number): Promise<readonly string[]> {
    const [, , , ...numbers] = await this.replies(`started ${id}`);
    const ends = numbers.map((number) => openSync(`/proc/${this.pid}/fd/${number}`, 'r'));
    this.send(['took', String(id)]);
    await this.replies(`ended ${id}`);
    const texts = ends.map((end) => readFileSync(end, 'latin1'));
    for (const end of ends) closeSync(end);
    return texts;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #take(chunk: Buffer): void {
    const parts = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = parts.pop() ?? '';
    this.lines.push(...parts);
    this.#wake();
  }
}
