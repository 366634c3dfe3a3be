import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ABI_FUNCTIONS } from '../../../src/tiers/a-wasm/engine/abi.table.ts';
import { frameOf } from '../../../src/tiers/a-wasm/engine/protocol.ts';
import { EngineProcess } from '../../../src/tiers/a-wasm/engine-process.ts';
import { newGuestLog } from '../../../src/tiers/a-wasm/guest-log.ts';
import { NO_FORM, sampleHead } from './sample-engine.ts';

function heard(mostBytes = 1_000) {
  const chunks: string[] = [];
  const log = newGuestLog((stream, chunk) => void chunks.push(`${stream} ${Buffer.from(chunk)}`), mostBytes);
  return { log, chunks };
}

describe('the log of a guest', () => {
  it('is passed on line by line, with the words that the ABI has for the levels', () => {
    const { log, chunks } = heard();
    const sentence = ABI_FUNCTIONS.find(({ name }) => name === 'log')?.sentence;
    for (const level of [0, 1, 2, 3]) {
      log.add(level, Buffer.from('ünder way'));
      const [, word] = /^stderr (\w+): ünder way\n$/.exec(chunks.at(-1) ?? '') ?? [];
      expect(sentence).toContain(`${level} ${word}`);
    }
    expect(log.end(false)).toBe(false);
    expect(chunks).toHaveLength(4);
  });

  it('has one line for each text, and nothing in it that a terminal obeys, whatever level and text are', () => {
    const level = fc.oneof(
      fc.integer(),
      fc.double(),
      fc.string(),
      fc.constantFrom(null, undefined, '__proto__'),
    );
    fc.assert(
      fc.property(level, fc.uint8Array({ maxLength: 60 }), (each, text) => {
        const { log, chunks } = heard();
        log.add(each, text);
        expect(chunks).toHaveLength(1);
        expect(chunks[0]).toMatch(/^stderr (debug|info|warning|error|log): [^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*\n$/u);
      }),
    );
  });

  it('is cut at its quota, by what is written and not by what the guest says', () => {
    const { log, chunks } = heard(100);
    for (let line = 0; line < 1_000; line++) log.add(1, Buffer.from('\x1b'));
    expect(log.end(false)).toBe(true);
    expect(chunks.slice(0, -1).join('').length).toBeLessThan(100 + chunks.length * 'stderr '.length);
    expect(chunks.at(-1)).toBe('stderr … and more: a log is cut at 100 bytes\n');
  });

  it('is cut at its quota also where every line is empty', () => {
    const { log, chunks } = heard(100);
    for (let line = 0; line < 1_000; line++) log.add(1, Buffer.alloc(0));
    expect(chunks.length).toBeLessThan(20);
    expect(log.end(false)).toBe(true);
  });

  it('tells when the engine has cut it', () => {
    const { log, chunks } = heard();
    expect(log.end(true)).toBe(true);
    expect(chunks).toEqual(['stderr … and more: a log is cut at 1000 bytes\n']);
  });
});

describe('an engine that says nonsense of a line', () => {
  it.each([[null], ['text'], [7], [{ level: { toString: 1 } }], [[]]])(
    'is heard all the same: %j',
    async (head) => {
      const { log, chunks } = heard();
      const [send, receive] = [new PassThrough(), new PassThrough()];
      const ends = {
        send,
        receive,
        kill: () => undefined,
        ended: new Promise<void>(() => undefined),
        isolation: {},
      };
      const engine = new EngineProcess(ends);
      receive.write(frameOf('ready', {}));
      await engine.ready;
      const call = {
        module: { key: 'k', form: NO_FORM },
        head: sampleHead(),
        input: Buffer.from(''),
      };
      const end = engine.run(call, { onRequest: async () => ({ result: 0 }), onLog: log.add });
      receive.write(frameOf('log', head, Buffer.from('x')));
      const done = { ending: 'returned', fuelUsed: 1, isExact: true, peakMemoryBytes: 0, isLogCut: false };
      receive.write(frameOf('done', done, Buffer.from('1')));
      expect(await end).toMatchObject({ kind: 'done' });
      expect(chunks).toEqual(['stderr log: x\n']);
    },
  );
});
