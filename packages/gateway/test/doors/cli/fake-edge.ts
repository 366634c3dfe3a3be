import { Readable, Writable } from 'node:stream';
import { type Environment, readEnvironment } from '../../../src/config/environment.ts';
import { runCommandLine } from '../../../src/doors/cli/cli.ts';
import type { Edge } from '../../../src/doors/cli/verb.ts';

export type Ran = { readonly status: number; readonly out: string; readonly err: string };

/** Runs a command line inside the test, with nothing outside: what it opens and reads is what `parts` hands it. */
export async function runInside(argv: readonly string[], parts: Partial<Edge> = {}): Promise<Ran> {
  const [out, err] = [new Sink(), new Sink()];
  const status = await runCommandLine({
    argv,
    env: noEnvironment(),
    cwd: '/nowhere',
    version: '0.0.0',
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
    random: { bytes: (count) => new Uint8Array(count) },
    stdin: Readable.from([]),
    stdout: out,
    stderr: err,
    signal: new AbortController().signal,
    whenUnread: () => undefined,
    packageFolders: [],
    openRecords: () => Promise.reject(new Error('nothing can be opened here')),
    openGateway: () => Promise.reject(new Error('nothing can be opened here')),
    ...parts,
  });
  return { status, out: out.text, err: err.text };
}

function noEnvironment(): Environment {
  return readEnvironment({}, { username: 'ada', homedir: '/nowhere' });
}

class Sink extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
