import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../../src/core/digest.ts';
import { mostFormBytes } from '../../../src/tiers/a-wasm/engine/protocol.ts';
import { Forms, ReadyModules } from '../../../src/tiers/a-wasm/modules.ts';
import { formOf as makeForm } from './sample-engine.ts';
import { samplePool } from './sample-pool.ts';

const BYTES = Buffer.from('a module');
const WANTED = { tenant: 'ada', sha256: digestBytes(BYTES), memoryBytes: 65_536, bytes: BYTES };
const STAYS = new AbortController().signal;

function sample() {
  const { pool, fakes } = samplePool({ most: 1 });
  const ready = new ReadyModules(pool, new Forms(null, 'terms'));
  /** The newest engine, once it was told to prepare so many modules. */
  const asked = async (times: number) => {
    const preparing = () => fakes.at(-1)?.heard.filter(({ kind }) => kind === 'prepare').length;
    await expect.poll(preparing).toBe(times);
    const [fake] = fakes.slice(-1);
    if (fake === undefined) throw new Error('no engine was started');
    return fake;
  };
  return { pool, fakes, ready, asked };
}

function formOf(code: Uint8Array) {
  const seal = createHash('sha256').update(code).digest();
  const head = { digest: '11'.repeat(32), seal: seal.toString('hex'), isComponent: false };
  return { head, bytes: Buffer.concat([code, seal]) };
}

describe('a module that is made ready', () => {
  it('is made once for all who wait, also where the one who began it goes away', async () => {
    const { ready, asked, fakes } = sample();
    const leaves = new AbortController();
    const first = ready.take(WANTED, leaves.signal);
    await asked(1);
    const others = [ready.take(WANTED, STAYS), ready.take(WANTED, STAYS)];
    leaves.abort();
    expect(await first).toMatchObject({ kind: 'gone' });
    await expect.poll(() => fakes.length).toBe(2);
    const { head, bytes } = formOf(Buffer.from('metered'));
    (await asked(1)).say('prepared', head, bytes);
    for (const other of others) expect(await other).toMatchObject({ kind: 'prepared' });
    expect(fakes.flatMap(({ heard }) => heard.map(({ kind }) => kind))).toEqual(['prepare', 'prepare']);
  });

  it('costs one look where it is refused', async () => {
    const { ready, asked } = sample();
    const first = ready.take(WANTED, STAYS);
    (await asked(1)).say('prepared', { refused: { code: 'malformed', message: 'no module' } });
    expect(await first).toMatchObject({ kind: 'refused' });
    expect(await ready.take(WANTED, STAYS)).toMatchObject({ kind: 'refused' });
    await asked(1);
  });

  it('is looked at again where the engine had no memory for it', async () => {
    const { ready, asked } = sample();
    const first = ready.take(WANTED, STAYS);
    (await asked(1)).say('prepared', { refused: { code: 'memory', message: 'no memory left' } });
    expect(await first).toMatchObject({ kind: 'refused' });
    const second = ready.take(WANTED, STAYS);
    const { head, bytes } = formOf(Buffer.from('metered'));
    (await asked(2)).say('prepared', head, bytes);
    expect(await second).toMatchObject({ kind: 'prepared' });
  });

  it('does not wait for all modules of another tenant', async () => {
    const { ready, asked, fakes } = sample();
    const ofAda = [1, 2, 3].map((memoryBytes) => ready.take({ ...WANTED, memoryBytes }, STAYS));
    await asked(1);
    const ofGrace = ready.take({ ...WANTED, tenant: 'grace', memoryBytes: 4 }, STAYS);
    for (let times = 1; times <= 4; times += 1)
      (await asked(times)).say('prepared', { refused: { code: 'malformed', message: 'no module' } });
    await Promise.all([...ofAda, ofGrace]);
    const order = fakes[0]?.heard.map(({ head }) => (head as { readonly memoryBytes: number }).memoryBytes);
    expect(order?.indexOf(4)).toBeLessThanOrEqual(2);
  });

  it('may be a module that is little but calls of the host, before each of which the meter looks', async () => {
    const calls = Buffer.alloc(200_000).fill(Buffer.from([0x10, 0]));
    const module = Buffer.concat([
      ...[
        Buffer.from('0061736d01000000', 'hex'),
        Buffer.from('01040160000002070101610162000003020100', 'hex'),
      ],
      // One function of 200,002 bytes: no locals, the calls, its end.
      ...[Buffer.from([10, 0xc6, 0x9a, 0x0c, 1, 0xc2, 0x9a, 0x0c, 0]), calls, Buffer.from([0x0b])],
    ]);
    const form = await makeForm(module);
    expect(form.bytes.length).toBeGreaterThan(12 * module.length);
    expect(form.bytes.length).toBeLessThan(mostFormBytes(module.length));
  });

  it('is taken up to its longest form, and no longer', async () => {
    const most = mostFormBytes(BYTES.length);
    const { ready, asked, fakes } = sample();
    const first = ready.take(WANTED, STAYS);
    const longest = formOf(Buffer.alloc(most - 32));
    (await asked(1)).say('prepared', longest.head, longest.bytes);
    expect(await first).toMatchObject({ kind: 'prepared' });
    const other = ready.take({ ...WANTED, memoryBytes: 1 }, STAYS);
    const tooLong = formOf(Buffer.alloc(2 * most));
    (await asked(2)).say('prepared', tooLong.head, tooLong.bytes);
    expect(await other).toMatchObject({ kind: 'gone' });
    expect(fakes[0]?.isKilled()).toBe(true);
  });
});
