import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../../src/core/digest.ts';
import type { Tool } from '../../../src/core/tool.ts';
import { ModuleCache } from '../../../src/tiers/a-wasm/modules.ts';
import { callTool, openTestGateway, PERMIT_ALL } from '../../fixture/gateway.ts';
import { ECHO, guest, wasmTool } from './guests.ts';

/** A program whose bytes are all the same, and how often they were read. */
function program(byte: number, length = 100) {
  const bytes = Buffer.alloc(length, byte);
  const reads = { count: 0 };
  const read = async () => {
    reads.count += 1;
    return bytes;
  };
  return { bytes, reads, sha256: digestBytes(bytes), read };
}

describe('a shelf of modules', () => {
  it('reads a module once, and gives the bytes of its digest whatever becomes of them elsewhere', async () => {
    const shelf = new ModuleCache();
    const module = program(1);
    const first = await shelf.take(module);
    module.bytes.fill(9);
    expect(await shelf.take(module)).toEqual(new Uint8Array(100).fill(1));
    expect([first?.[0], module.reads.count]).toEqual([1, 1]);
  });

  it('gives nothing for bytes that are not those of the digest, and looks again at the next call', async () => {
    const shelf = new ModuleCache();
    const { sha256, read, reads } = program(1);
    expect(await shelf.take({ sha256: program(2).sha256, read })).toBeNull();
    expect(await shelf.take({ sha256, read })).not.toBeNull();
    expect(reads.count).toBe(2);
  });

  it('keeps so many bytes, and lets go of what was used longest ago', async () => {
    const shelf = new ModuleCache(250);
    const [first, second, third, large] = [program(1), program(2), program(3), program(4, 251)];
    for (const each of [first, second, first, third, first, second, large, large]) await shelf.take(each);
    expect([first, second, third, large].map(({ reads }) => reads.count)).toEqual([1, 2, 1, 2]);
  });

  it('tells who asks that the bytes cannot be read', async () => {
    const read = () => Promise.reject(new Error('the disk is gone'));
    await expect(new ModuleCache().take({ sha256: program(1).sha256, read })).rejects.toThrow('disk');
  });
});

describe('a module', () => {
  it.each<[string, () => Promise<Uint8Array>, string]>([
    ['never come is ended at its time', () => new Promise(() => undefined), 'tier/timed-out'],
    ['cannot be read does not run', () => Promise.reject(new Error('no disk')), 'tier/not-started'],
  ])('whose bytes %s', async (_, read, code) => {
    const tool = wasmTool('test.unread', guest(ECHO), {}, { wallMs: 300 });
    if (tool.executor.kind !== 'wasm') throw new Error('it is no module');
    const { program } = tool.executor;
    const unread: Tool = { ...tool, executor: { kind: 'wasm', program: { ...program, read } } };
    const gateway = await openTestGateway({ policies: PERMIT_ALL, tools: [unread] });
    const { outcome } = await callTool(gateway, 'test.unread');
    expect(outcome).toMatchObject({ code, usage: { calls: 1, fuel: 0 } });
  });
});
