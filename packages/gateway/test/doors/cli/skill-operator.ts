/** An operator on a real state directory, with real engines. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { OpenOptions } from '../../../src/doors/cli/verb.ts';
import { openGateway, openRecords, systemClock, systemRandom } from '../../../src/open.ts';
import { CHECKED } from '../../fixture/checked.ts';
import { type Ran, runInside } from './fake-edge.ts';
import { type HeldGateways, holdGateways } from './held-gateways.ts';
import { KEY, writeKey } from './skill-sample.ts';

export type How = {
  /** What a person types at a terminal; left out: there is none. */
  readonly typed?: string;
  /** What happens while that person reads, before the answer is typed. */
  readonly meanwhile?: () => Promise<unknown>;
  readonly stdin?: Uint8Array;
  readonly nowMs?: number;
};

export type Operator = {
  readonly state: string;
  readonly palisade: (words: readonly string[], how?: How) => Promise<Ran>;
  /** The document of a command that ends well. */
  readonly told: (words: readonly string[], how?: How) => Promise<Record<string, unknown>>;
  /** Has the next command read the policies and the configuration anew. */
  readonly reopen: () => Promise<void>;
};

/** A state directory of its own; the key of the publisher is trusted unless another word is said. */
export async function newOperator(scratch: string, name: string, isTrusting = true): Promise<Operator> {
  const state = join(scratch, name);
  mkdirSync(state, { mode: 0o700 });
  writeFileSync(join(state, 'palisade.toml'), '');
  const gateways = holdGateways();
  onTestFinished(gateways.close);
  const palisade = async (words: readonly string[], how: How = {}) => {
    const screen = new Screen();
    const atTerminal = how.typed === undefined ? {} : { stdout: screen };
    const colour = how.typed === undefined ? [] : ['--no-color'];
    const ran = await runInside([...words, ...colour, '--state', state], {
      ...partsOf(how, gateways.open),
      ...atTerminal,
    });
    return { ...ran, out: ran.out + screen.text };
  };
  const told = async (words: readonly string[], how: How = {}) => {
    const { status, out } = await palisade([...words, '--json'], how);
    if (status !== 0) throw new Error(`palisade ${words.join(' ')} ended with ${status}: ${out}`);
    return JSON.parse(out) as Record<string, unknown>;
  };
  if (isTrusting) await told(['trust', 'add', 'acme', writeKey(state, 'acme', KEY), '--yes']);
  return { state, palisade, told, reopen: gateways.close };
}

function partsOf({ typed, meanwhile, stdin, nowMs }: How, open: HeldGateways['open']) {
  const bytes = typed === undefined ? (stdin ?? new Uint8Array(0)) : Buffer.from(typed);
  const clock = nowMs === undefined ? systemClock : { ...systemClock, nowMs: () => nowMs };
  const supplied = async function* () {
    await meanwhile?.();
    if (bytes.length > 0) yield bytes;
  };
  const input = Object.assign(Readable.from(supplied()), { isTTY: typed !== undefined });
  return {
    ...{ clock, random: systemRandom, stdin: input },
    openGateway: (options: OpenOptions) =>
      nowMs === undefined ? open(options) : openGateway({ ...options, clock, checked: CHECKED }),
    openRecords: (options: OpenOptions) => openRecords({ ...options, clock }),
  };
}

class Screen extends Writable {
  readonly isTTY = true;
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
