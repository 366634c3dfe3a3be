import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../../src/core/digest.ts';
import type { GuestRequest, HostReply } from '../../../src/tiers/a-wasm/engine-process.ts';
import { Recorder, requestDigest } from '../../../src/tiers/a-wasm/recorder.ts';
import { sampleHead } from './sample-engine.ts';

const question = (numbers: readonly number[] = [30_000], text = 'key'): GuestRequest => ({
  head: { name: 'storage_get', numbers, lengths: [text.length] },
  bytes: Buffer.from(text),
});

/** What is kept of a call that asks so often and is always answered the same. */
async function kept(times: number, reply: HostReply) {
  const recorder = new Recorder();
  const ask = recorder.around(async () => reply);
  for (let count = 0; count < times; count++) await ask(question());
  return recorder.recordingOf({ module: digestBytes('a module'), input: '{}' }, sampleHead());
}

describe('a recorder', () => {
  it('keeps every answer of a call, in the order of asking', async () => {
    const recording = await kept(3, { result: 5, bytes: Buffer.from('value') });
    const exchange = { name: 'storage_get', asked: requestDigest(question()), result: 5, bytes: 'dmFsdWU=' };
    expect(recording).toMatchObject({ input: '{}', exchanges: [exchange, exchange, exchange] });
  });

  it.each([
    ['large answers', 5, { result: 1, bytes: Buffer.alloc(1024 * 1024) }],
    ['a great many answers that are empty', 20_000, { result: -2 }],
  ])('keeps nothing of a call with %s', async (_what, times, reply) => {
    expect(await kept(times, reply)).toBe('too large');
    expect(await kept(2, reply)).toMatchObject({ exchanges: { length: 2 } });
  });
});

describe('what a question comes to', () => {
  it('is another one for other numbers and other bytes, and there for every number', () => {
    const numbers = [0, 1, -1, 0.5, 2 ** 53, 2 ** 60, 1e300];
    const digests = [
      ...numbers.map((each) => requestDigest(question([each]))),
      requestDigest(question([0], 'kez')),
    ];
    expect(new Set(digests).size).toBe(numbers.length + 1);
  });
});
