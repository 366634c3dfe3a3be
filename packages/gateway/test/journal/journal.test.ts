import { rmSync } from 'node:fs';
import { verifyReceipt } from '@palisade/sdk';
import { describe, expect, it } from 'vitest';
import { acceptClock } from '../../src/invoke/administer.ts';
import { readHead } from '../../src/journal/head.ts';
import { MAX_LINE_BYTES } from '../../src/journal/journal.ts';
import { systemClock } from '../../src/open.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import {
  bodyOf,
  callTool,
  GRACE,
  NOON,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
  ringOf,
  testClock,
} from '../fixture/gateway.ts';
import { refusalOf } from '../store/sample.ts';
import { appendMany, draft, openTestRecords, verified } from './sample.ts';

describe('append()', () => {
  it('gives each record its number, its time and the hash of the one before it', async () => {
    const clock = testClock();
    const records = await openTestRecords({ clock });
    for (let i = 0; i < 5; i++) {
      clock.add(10);
      records.store.transact((tx) => records.journal.append(tx, draft({ body: { i } })));
    }
    const rows = recordsOf(records);
    expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    for (const [i, row] of rows.entries()) {
      const { prev, seq, at } = JSON.parse(row.line);
      const before = rows[i - 1];
      expect(prev).toBe(before === undefined ? '0'.repeat(64) : Buffer.from(before.hash).toString('hex'));
      expect([seq, Date.parse(at)]).toEqual([row.seq, row.at_ms]);
    }
    expect(await verified(records)).toMatchObject({ ok: true, records: 6, firstBad: null });
  });

  it('leaves no gap and no trace of a transaction that was rolled back', async () => {
    const records = await openTestRecords();
    const { store, journal } = records;
    const writes = Array.from({ length: 100 }, (_, i) =>
      store.commit((tx) => {
        journal.append(tx, draft({ body: { i } }));
        if (i % 10 === 3) throw new Error('changed its mind');
      }),
    );
    await Promise.allSettled(writes);
    const rows = recordsOf(records);
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 91 }, (_, i) => i + 1));
    expect(rows.some((row) => Number(bodyOf(row).i) % 10 === 3)).toBe(false);
    expect(await verified(records)).toMatchObject({ ok: true, records: 91 });
  });

  it('makes one chain of the records of several processes', async () => {
    const gateway = await openTestGateway({ clock: systemClock, policies: PERMIT_ALL });
    const program = await bundleProgram('call-many.ts');
    const children = ['ada', 'bob'].map((name) => new Child(program, [gateway.stateDir, name, '100']));
    for (const child of children) expect(await child.line()).toBe('ready');
    for (const child of children) child.go();
    await Promise.all(Array.from({ length: 100 }, () => callTool(gateway, 'palisade.echo')));
    for (const child of children) expect((await child.line()).match(/"code":"ok"/g)).toHaveLength(100);
    const rows = recordsOf(gateway);
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, i) => i + 1));
    expect(rows.filter(({ kind }) => kind === 'ended')).toHaveLength(300);
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('records the ending of a call once, and only of one that is open', async () => {
    const records = await openTestRecords();
    const append = (wishes: Parameters<typeof draft>[0]) =>
      records.store.transact((tx) => records.journal.append(tx, draft({ call: 'call_1', ...wishes })));
    append({ kind: 'intent', opens: 'p_test' });
    append({ kind: 'ended', closes: true });
    const before = recordsOf(records).length;
    expect(() => append({ kind: 'ended', closes: true })).toThrow('it is not open');
    expect(recordsOf(records)).toHaveLength(before);
  });

  it('takes the values of secrets out of a record and leaves words about them', async () => {
    const env = { MY_API_KEY: 'hunter2-hunter2', MY_NAME: 'not-a-secret' };
    const records = await openTestRecords({ env });
    const body = { token: 'not-a-secret', said: 'it is hunter2-hunter2!', tokens: 12 };
    records.store.transact((tx) => records.journal.append(tx, draft({ body })));
    const row = recordsOf(records).at(-1);
    expect(bodyOf(row)).toEqual({ token: 'not-a-secret', said: 'it is [redacted:MY_API_KEY]!', tokens: 12 });
    expect(row?.line).not.toContain('hunter2');
    expect(await verified(records)).toMatchObject({ ok: true });
  });

  it('takes a line of the largest size and refuses a longer one, leaving no trace', async () => {
    const records = await openTestRecords();
    const { store, journal } = records;
    const append = (text: string) => store.transact((tx) => journal.append(tx, draft({ body: { text } })));
    append('');
    const room = MAX_LINE_BYTES - Buffer.byteLength(recordsOf(records).at(-1)?.line ?? '');
    const before = recordsOf(records);
    for (const text of ['x'.repeat(room + 1), 'ä'.repeat(room / 2 + 1)]) {
      expect(() => append(text)).toThrow(
        new TypeError('Cannot record "note": the line has over 524288 bytes'),
      );
    }
    expect(recordsOf(records)).toEqual(before);
    append('x'.repeat(room));
    expect(await verified(records)).toMatchObject({ ok: true, records: 3 });
  });

  it('stays verifiable and writes one record when processes meet a policy file with a huge bad word', async () => {
    const policies = `permit ${'x'.repeat(200_000)}`;
    const { stateDir, close } = await openTestGateway({ policies });
    await close();
    for (let i = 0; i < 2; i++) await (await openTestGateway({ stateDir })).close();
    const records = await openTestRecords({ stateDir });
    const refused = recordsOf(records).filter(({ kind }) => kind === 'policy-refused');
    expect(refused).toHaveLength(1);
    expect(refused[0]?.line.length).toBeLessThan(1500);
    expect(bodyOf(refused[0])).toMatchObject({ digest: null, problems: [{ file: 'test.cedar' }], more: 0 });
    expect(await verified(records)).toMatchObject({ ok: true });
  });
});

describe('a clock', () => {
  it('that is set back a little never makes a record older than the one before it', async () => {
    const clock = testClock();
    const records = await openTestRecords({ clock });
    const times = [5000, -3000, 1000, -50_000, 60_000];
    for (const step of times) {
      clock.add(step);
      records.store.transact((tx) => records.journal.append(tx, draft()));
    }
    const at = recordsOf(records).map(({ at_ms }) => at_ms - NOON);
    expect(at).toEqual([0, 5000, 5000, 5000, 5000, 13_000]);
    expect(await verified(records)).toMatchObject({ ok: true });
  });

  it('that is set back a little still gives receipts whose times are in order', async () => {
    const clock = testClock();
    const gateway = await openTestGateway({ clock });
    await callTool(gateway, 'palisade.echo');
    clock.add(-30_000);
    const { receipt } = await callTool(gateway, 'palisade.echo');
    expect(await verifyReceipt(receipt ?? '', await ringOf(gateway))).toMatchObject({ ok: true });
  });

  it('that is set back a lot stops every record until a person accepts it', async () => {
    const clock = testClock();
    const gateway = await openTestGateway({ clock });
    const before = recordsOf(gateway).length;
    clock.add(-60_001);
    const { outcome, receipt } = await callTool(gateway, 'palisade.echo');
    expect(outcome).toMatchObject({
      code: 'store/clock-behind',
      message:
        'Cannot record the call: the clock says 2026-05-01T11:58:59.999Z, the last record is of 2026-05-01T12:00:00.000Z',
    });
    expect(receipt).toBeNull();
    expect(recordsOf(gateway)).toHaveLength(before);

    acceptClock(gateway, GRACE);
    const accepted = recordsOf(gateway).find(({ kind }) => kind === 'clock-accepted');
    expect(accepted).toMatchObject({ principal: 'user:grace', at_ms: NOON - 60_001 });
    expect(bodyOf(accepted)).toEqual({ before: '2026-05-01T12:00:00.000Z' });
    expect((await callTool(gateway, 'palisade.echo')).outcome.code).toBe('ok');
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('that was years ahead leaves old and new receipts valid once it is set right', async () => {
    const clock = testClock(Date.UTC(2040, 0, 1));
    const gateway = await openTestGateway({ clock });
    clock.add(5000);
    const old = await callTool(gateway, 'palisade.echo');
    clock.set(NOON);
    expect((await callTool(gateway, 'palisade.echo')).outcome.code).toBe('store/clock-behind');
    acceptClock(gateway, GRACE);
    const fresh = await callTool(gateway, 'palisade.echo');
    const ring = await ringOf(gateway);
    expect(await verifyReceipt(old.receipt ?? '', ring)).toMatchObject({ ok: true });
    expect(await verifyReceipt(fresh.receipt ?? '', ring)).toMatchObject({ ok: true });
    clock.add(10_000);
    await callTool(gateway, 'palisade.echo');
    expect(await verified(gateway)).toMatchObject({ ok: true, firstBad: null });
  });

  it('that is accepted although it is right changes nothing but the record of it', async () => {
    const clock = testClock();
    const records = await openTestRecords({ clock });
    clock.add(1000);
    const key = records.keys.currentId;
    acceptClock(records, GRACE);
    expect(readHead(records.store).atMs).toBe(NOON + 1000);
    expect(records.keys.currentId).toBe(key);
    expect(await verified(records)).toMatchObject({ ok: true, records: 2 });
  });
});

describe('checkpoint()', () => {
  it('is signed after as many records as configured, and covers all when the records are closed', async () => {
    const toml = '[journal]\ncheckpoint_every_records = 10\n';
    const records = await openTestRecords({ toml });
    for (let i = 0; i < 25; i++) appendMany(records, 1);
    expect(readHead(records.store).checkpointSeq).toBe(21);
    expect(records.journal.isUncovered(records.store)).toBe(true);
    await records.close();
    const again = await openTestRecords({ stateDir: records.stateDir });
    expect(again.journal.isUncovered(again.store)).toBe(false);
  });

  it('is refused for a journal that cannot be signed', async () => {
    const records = await openTestRecords();
    const { stateDir, store, journal, keys } = records;
    rmSync(`${stateDir}/keys/current.pem`);
    expect(refusalOf(() => store.transact((tx) => journal.checkpoint(tx))).code).toBe('attest/missing-key');
    expect(refusalOf(() => keys.currentId).code).toBe('attest/missing-key');
  });
});
