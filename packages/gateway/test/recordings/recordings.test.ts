import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/core/digest.ts';
import type { Recording } from '../../src/core/recording.ts';
import {
  findRecording,
  pack,
  type Recorded,
  saveRecording,
  writeDown,
} from '../../src/recordings/recordings.ts';
import { openTestGateway } from '../fixture/gateway.ts';

const KIB = 1024;

/** A recording that packs to about so many bytes, of this module. */
function recorded(module: Uint8Array, bytes: number): Recorded {
  const recording: Recording = {
    ...{ version: 1, module: digestBytes(module), exportName: 'tool', functions: [], counts: {}, limits: {} },
    ...{ startedMs: 0, seed: '', config: {}, exchanges: [], input: randomBytes(bytes).toString('latin1') },
  };
  return { recording, module };
}

async function open() {
  const { store } = await openTestGateway();
  const save = async (call: string, what: Recorded, mostBytes?: number) => {
    const packed = await pack(writeDown(what));
    return store.commit((tx) => saveRecording(tx, call, packed, mostBytes));
  };
  return { store, save, find: (call: string) => findRecording(store, call) };
}

describe('recordings', () => {
  it('come back as they were, with their module', async () => {
    const { save, find } = await open();
    const what = recorded(randomBytes(KIB), KIB);
    await save('call-1', what);
    const found = find('call-1');
    expect(found?.recording).toEqual(what.recording);
    expect(Buffer.from(found?.module ?? [])).toEqual(what.module);
    expect(find('call-2')).toBeNull();
  });

  it('are dropped for new ones, the oldest first, with their modules', async () => {
    const { save, find } = await open();
    const [first, second] = [randomBytes(100 * KIB), randomBytes(100 * KIB)];
    const mostBytes = 250 * KIB;
    await save('call-1', recorded(first, KIB), mostBytes);
    await save('call-2', recorded(first, KIB), mostBytes);
    expect(find('call-1')).not.toBeNull();
    // Both modules fit, a third copy of either beside them does not.
    await save('call-3', recorded(second, KIB), mostBytes);
    expect([find('call-1'), find('call-2'), find('call-3')].map((each) => each !== null)).toEqual([
      true,
      true,
      true,
    ]);
    await save('call-4', recorded(randomBytes(100 * KIB), KIB), mostBytes);
    expect([find('call-1'), find('call-2')]).toEqual([null, null]);
    expect([find('call-3'), find('call-4')].map((each) => each !== null)).toEqual([true, true]);
  });

  it('never grow beyond their limit, however many calls there are', async () => {
    const { save, find } = await open();
    const module = randomBytes(KIB);
    for (let index = 0; index < 60; index += 1)
      await save(`call-${index}`, recorded(module, 4 * KIB), 64 * KIB);
    const kept = Array.from({ length: 60 }, (_, index) => find(`call-${index}`) !== null);
    expect(kept.filter(Boolean).length).toBeLessThan(16);
    expect(kept.at(-1)).toBe(true);
    // What is kept is what came last, without a gap.
    expect(kept.lastIndexOf(false)).toBe(kept.indexOf(true) - 1);
  });
});
