import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseKeyRing, verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, it } from 'vitest';
import { isoTime } from '../../src/core/clock.ts';
import { CodedError } from '../../src/core/coded-error.ts';
import { acceptClock, finishRotation, rotateKey } from '../../src/invoke/administer.ts';
import type { Records } from '../../src/invoke/gateway.ts';
import { systemClock } from '../../src/open.ts';
import type { Store } from '../../src/store/store.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import { bodyOf, callTool, GRACE, NOON, openTestGateway, recordsOf, testClock } from '../fixture/gateway.ts';
import { openTestRecords, verified } from '../journal/sample.ts';
import { refusalOf } from '../store/sample.ts';

const pemFiles = (stateDir: string) =>
  readdirSync(join(stateDir, 'keys')).filter((name) => name.includes('.pem'));
const rotations = (records: Records) => recordsOf(records).filter(({ kind }) => kind === 'key-rotated');

/** The same records, whose commits fail when all is written. */
function withFullDisk(records: Records): Records {
  const full = () => {
    throw new CodedError('store/full', 'Cannot write the database: the disk is full');
  };
  const store = {
    transact: (work: (tx: never) => unknown) => records.store.transact((tx) => [work(tx as never), full()]),
  };
  return { ...records, store: store as unknown as Store };
}

/** By key: whether it is retired. */
async function retirements(records: Records): Promise<Map<string, boolean>> {
  const ring = await parseKeyRing(records.keys.export(), webPrimitives);
  if (!ring.ok) throw new Error(ring.why);
  return new Map([...ring.keys.keys].map(([id, { retiredAt }]) => [id, retiredAt !== null]));
}

/** Renames and removals of one rotation, and one more that never comes. */
const STEPS = [0, 1, 2, 3, 4, 5, 6];

describe('a rotation', () => {
  it('whose record cannot be written changes nothing, and leaves nothing', async () => {
    const gateway = await openTestGateway();
    const { currentId } = gateway.keys;
    expect(refusalOf(() => rotateKey(withFullDisk(gateway), GRACE, false)).code).toBe('store/full');
    expect([gateway.keys.currentId, rotations(gateway).length]).toEqual([currentId, 0]);
    expect((await callTool(gateway, 'palisade.echo')).outcome.code).toBe('ok');
    finishRotation(gateway);
    expect(pemFiles(gateway.stateDir)).toEqual(['current.pem']);
    expect([...(await retirements(gateway))]).toEqual([[currentId, false]]);
    expect(await verified(gateway)).toMatchObject({ ok: true });
    expect(rotateKey(gateway, GRACE, false).from).toBe(currentId);
  });

  it('that is killed after any step is whole or undone once it is finished, and all still verifies', async () => {
    const program = await bundleProgram('rotate-and-die.ts');
    const recorded: boolean[] = [];
    for (const step of STEPS) {
      const before = await openTestGateway({ clock: systemClock });
      const old = before.keys.currentId;
      const receipts = [(await callTool(before, 'palisade.echo')).receipt];
      await before.close();
      await new Child(program, [before.stateDir, String(step)]).ended();

      const gateway = await openTestGateway({ stateDir: before.stateDir, clock: systemClock });
      receipts.push((await callTool(gateway, 'palisade.echo')).receipt);
      finishRotation(gateway);
      receipts.push((await callTool(gateway, 'palisade.echo')).receipt);
      const to = bodyOf(rotations(gateway)[0]).to ?? null;
      recorded.push(to !== null);
      expect(gateway.keys.currentId).toBe(to ?? old);
      expect(Object.fromEntries(await retirements(gateway))).toEqual(
        to === null ? { [old]: false } : { [old]: true, [String(to)]: false },
      );
      expect(pemFiles(gateway.stateDir)).toEqual(['current.pem']);
      const ring = await parseKeyRing(gateway.keys.export(), webPrimitives);
      if (!ring.ok) throw new Error(ring.why);
      for (const receipt of receipts)
        expect((await verifyReceipt(receipt ?? '', ring.keys, {}, webPrimitives)).ok).toBe(true);
      expect(await verified(gateway)).toMatchObject({ ok: true });
    }
    expect(recorded).toEqual(STEPS.map((step) => step > 0));
  }, 60_000);

  it('of a lost key is refused while the key is there', async () => {
    const records = await openTestRecords();
    const { currentId } = records.keys;
    expect(refusalOf(() => rotateKey(records, GRACE, true))).toMatchObject({
      code: 'door/wrong-usage',
      remedy: expect.stringContaining('without --lost'),
    });
    expect([records.keys.currentId, rotations(records).length]).toEqual([currentId, 0]);
  });

  it('of a lost key works when a checkpoint is due, which the new key signs', async () => {
    const clock = testClock();
    const records = await openTestRecords({ clock, toml: '[journal]\ncheckpoint_every_records = 1\n' });
    rmSync(join(records.stateDir, 'keys', 'current.pem'));
    clock.add(3_600_000);
    expect(refusalOf(() => rotateKey(withFullDisk(records), GRACE, true)).code).toBe('store/full');
    expect(refusalOf(() => records.keys.currentId).code).toBe('attest/missing-key');
    const { to } = rotateKey(records, GRACE, true);
    expect(records.keys.currentId).toBe(to);
    expect(records.journal.isUncovered(records.store)).toBe(false);
    expect(await verified(records)).toMatchObject({ ok: true });
  });

  it('with the clock behind the last record takes the time of that record, and everything verifies', async () => {
    const clock = testClock();
    const gateway = await openTestGateway({ clock });
    clock.add(5_000);
    const receipts = [(await callTool(gateway, 'palisade.echo')).receipt];
    clock.set(NOON + 3_000);
    const { to } = rotateKey(gateway, GRACE, false);
    receipts.push((await callTool(gateway, 'palisade.echo')).receipt);
    expect(gateway.keys.validSince()).toBe(isoTime(NOON + 5_000));
    const times = recordsOf(gateway).map(({ line }) => (JSON.parse(line) as { at: string }).at);
    expect(times).toEqual([...times].sort());
    expect(times.at(-1)).toBe(isoTime(NOON + 5_000));
    const ring = await parseKeyRing(gateway.keys.export(), webPrimitives);
    if (!ring.ok) throw new Error(ring.why);
    for (const receipt of receipts)
      expect(await verifyReceipt(receipt ?? '', ring.keys, {}, webPrimitives)).toMatchObject({ ok: true });
    expect(JSON.parse(receipts[1] ?? '{}').signatures[0].keyid).toBe(to);
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('after a clock that was ahead leaves what was signed then valid', async () => {
    const clock = testClock();
    const gateway = await openTestGateway({ clock });
    clock.add(86_400_000);
    await callTool(gateway, 'palisade.echo');
    clock.set(NOON + 1000);
    acceptClock(gateway, GRACE);
    await callTool(gateway, 'palisade.echo');
    rotateKey(gateway, GRACE, false);
    await callTool(gateway, 'palisade.echo');
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });
});
