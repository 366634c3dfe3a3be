import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { bundle } from '../fixture/bundle.ts';
import { tempDir } from './temp-store.ts';

/**
 * Starts many processes of one fixture, lets them all get ready, sends them off together, and gives the line that each
 * printed. A fixture prints "ready", waits for a line and prints its result.
 */
export async function race(entry: URL, argsOf: readonly (readonly string[])[]): Promise<string[]> {
  const program = await bundle(entry, tempDir());
  const racers = argsOf.map((args) => new Racer(program, args));
  try {
    for (const racer of racers) await racer.line('ready');
    for (const racer of racers) racer.go();
    return await Promise.all(racers.map((racer) => racer.line('result')));
  } finally {
    for (const racer of racers) await racer.end();
  }
}

class Racer {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(program: string, args: readonly string[]) {
    const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stderr.on('data', (chunk) => {
      this.#errors += chunk;
    });
  }

  async line(what: string): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`Cannot read the ${what} line: the process ended with "${this.#errors}"`);
    return value;
  }

  go(): void {
    this.#child.stdin?.write('go\n');
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
