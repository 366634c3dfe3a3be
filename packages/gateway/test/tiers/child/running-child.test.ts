import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { ChildEnd, ChildTerms, ChildWatch, Exit } from '../../../src/tiers/child/child.ts';
import type { ByteStore } from '../../../src/tiers/child/output.ts';
import { attendChild } from '../../../src/tiers/child/run-child.ts';
import { bytesOf, textOf } from './sample.ts';

const TERMS: ChildTerms = {
  descriptors: [{ role: 'status', maxBytes: 100 }],
  stdin: null,
  outputBytes: 10,
  wallMs: 50_000,
  graceMs: 50_000,
};

/** Says "over N" at the very end when N bytes of output are all. */
function lastWord(_: number, said: ByteStore): number | null {
  const bytes = /over (\d+)\n$/.exec(textOf(said.bytes()))?.[1];
  return bytes === undefined ? null : Number(bytes);
}

/** A child that is made up: what it writes and when it ends is up to the test. */
function attend(changes: Partial<ChildWatch> = {}, terms: Partial<ChildTerms> = {}) {
  const [stdout, stderr, said] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let exit: (exit: Exit) => void = () => undefined;
  const exited = new Promise<Exit>((resolve) => {
    exit = resolve;
  });
  const kills: string[] = [];
  const kill = () => void kills.push('killed');
  const servers = Promise.resolve([]);
  const child = {
    stdin: null,
    stdout,
    stderr,
    ends: [said],
    exited,
    connect: async () => null,
    servers,
    kill,
  };
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const { signal } = new AbortController();
  const ended = attendChild(child, { ...TERMS, ...terms }, { signal, clock, lastWord, ...changes });
  return { stdout, stderr, said, exit, kills, ended };
}

/** The end of it, or null where it has none after all that could be read was read. */
async function endNow(ended: Promise<ChildEnd>): Promise<ChildEnd | null> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  return Promise.race([ended, Promise.resolve(null)]);
}

const EXITED: Exit = { exitCode: 3, signal: null, spawnError: null };

describe('a child that has said its last word', () => {
  it('has ended when all that it wrote is here, although it lives on', async () => {
    const { stdout, stderr, said, kills, ended } = attend();
    stdout.write('abc');
    stderr.write('de');
    said.write('first\nover 5\n');
    const end = await endNow(ended);
    expect(end).toMatchObject({ exitCode: null, signal: null, stopped: null, outputBytes: 5 });
    expect([textOf(end?.stdout), textOf(end?.stderr)]).toEqual(['abc', 'de']);
    expect(end?.read.map(textOf)).toEqual(['first\nover 5\n']);
    // Whoever has the box ends it; nothing of ours stays open meanwhile.
    expect(kills).toEqual([]);
    expect([stdout, stderr, said].map(({ destroyed }) => destroyed)).toEqual([true, true, true]);
  });

  it('is waited for while some of what it wrote is on its way', async () => {
    const { stdout, said, ended } = attend();
    said.write('over 5\n');
    stdout.write('abc');
    expect(await endNow(ended)).toBeNull();
    stdout.write('de');
    expect(textOf((await endNow(ended))?.stdout)).toBe('abcde');
  });

  it('is waited for until that word is whole', async () => {
    const { stdout, said, ended } = attend();
    stdout.write('abcde');
    said.write('over 5');
    expect(await endNow(ended)).toBeNull();
    said.write('\n');
    expect(await endNow(ended)).toMatchObject({ outputBytes: 5 });
  });

  it('is stopped all the same where it wrote more than the quota', async () => {
    const { stdout, said, exit, kills, ended } = attend();
    said.write('over 11\n');
    stdout.write('x'.repeat(11));
    expect(await endNow(ended)).toBeNull();
    expect(kills).toEqual(['killed']);
    exit(EXITED);
    said.end();
    expect(await endNow(ended)).toMatchObject({ exitCode: 3, stopped: 'output', outputBytes: 10 });
  });

  it('keeps its end: neither its exit nor a cancellation that comes later changes it', async () => {
    const cancel = new AbortController();
    const { said, exit, kills, ended } = attend({ signal: cancel.signal });
    said.write('over 0\n');
    const end = await endNow(ended);
    expect(end).toMatchObject({ exitCode: null, stopped: null });
    cancel.abort();
    exit(EXITED);
    expect(await endNow(ended)).toBe(end);
    expect(kills).toEqual([]);
  });

  it('and did so because it was cancelled, is one that was cancelled', async () => {
    const cancel = new AbortController();
    const { said, kills, ended } = attend({ signal: cancel.signal });
    cancel.abort();
    said.write('over 0\n');
    expect(await endNow(ended)).toMatchObject({ stopped: 'cancelled' });
    expect(kills).toEqual(['killed']);
  });

  it('gives what a listener to its output threw', async () => {
    const onOutput = () => {
      throw new Error('no more paper');
    };
    const { stdout, said, ended } = attend({ onOutput });
    stdout.write('abc');
    said.write('over 3\n');
    await expect(ended).rejects.toThrow('no more paper');
  });
});

describe('a child that has not', () => {
  it('is waited for until it has ended and its streams have', async () => {
    const { stdout, stderr, said, exit, ended } = attend();
    said.end(bytesOf('over 5 or not\n'));
    stdout.end('abcde');
    exit(EXITED);
    expect(await endNow(ended)).toBeNull();
    stderr.end();
    expect(await endNow(ended)).toMatchObject({ exitCode: 3, outputBytes: 5 });
  });

  it('is not asked where nobody watches for that word', async () => {
    const { said, exit, ended, stdout, stderr } = attend({ lastWord: () => null });
    said.end('over 0\n');
    expect(await endNow(ended)).toBeNull();
    for (const stream of [stdout, stderr]) stream.end();
    exit(EXITED);
    expect(await endNow(ended)).toMatchObject({ exitCode: 3 });
  });
});
