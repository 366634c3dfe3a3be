import { parseKeyRing } from '@palisade/sdk';
import { describe, expect, it } from 'vitest';
import { Keys } from '../../src/attest/keys.ts';
import { nodePrimitives } from '../../src/attest/primitives.ts';
import { digestBytes } from '../../src/core/digest.ts';
import { leafHash, readHead } from '../../src/journal/head.ts';
import { verifyLive } from '../../src/journal/verify.ts';
import { NOON } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { endCall } from './ending.ts';
import { draft, openTestRecords, type RawDatabase, type TestRecords, tamper, verified } from './sample.ts';

const COUNT = 30;
const PER_CALL = 2;

/** Calls that begin and end, and one that is still open: record 1 founds, then an intent and an ending per call. */
async function lived(isSigned: boolean): Promise<TestRecords> {
  const records = await openTestRecords();
  const { store, journal, presence } = records;
  store.transact((tx) => {
    for (let i = 0; i < COUNT / PER_CALL - 1; i++) {
      const about = { call: `call_${i}`, principal: 'agent:ada', tool: 'palisade.echo', tenant: 'default' };
      journal.append(tx, draft({ ...about, kind: 'intent', body: { i }, opens: presence.id }));
      endCall(records, tx, `call_${i}`);
    }
    journal.append(tx, draft({ kind: 'intent', call: 'call_open', opens: presence.id }));
  });
  expect(readHead(store).seq).toBe(COUNT);
  if (isSigned) store.transact((tx) => journal.checkpoint(tx));
  return records;
}

const COLUMNS = 'at_ms, kind, call, principal, tool, tenant, line, hash';

/** Opens a gap at `from`, so that a record can be put there. */
function shiftUp(db: RawDatabase, from: number): void {
  db.exec(`UPDATE journal_record SET seq = -seq - 1 WHERE seq >= ${from}`);
  db.exec('UPDATE journal_record SET seq = -seq WHERE seq < 0');
}

/** Closes the gap that a deleted record leaves. */
function shiftDown(db: RawDatabase, from: number): void {
  db.exec(`UPDATE journal_record SET seq = -seq + 1 WHERE seq > ${from}`);
  db.exec('UPDATE journal_record SET seq = -seq WHERE seq < 0');
}

/** Changes the line of a record and everything beside it that the database holds about that line. */
function forge(db: RawDatabase, seq: number, change: (line: string) => string): void {
  const row = db.prepare('SELECT line FROM journal_record WHERE seq = ?').raw().get([seq]) as [string];
  const line = change(row[0]);
  db.prepare('UPDATE journal_record SET line = ?, hash = ? WHERE seq = ?').run([line, leafHash(line), seq]);
}

const payloadOf = (receipt: string) => Buffer.from(JSON.parse(receipt).payload, 'base64').toString();
const addNote = (line: string) => line.replace('"body":{', '"body":{"aaa":1,');
const cutAt = (seq: number) => (db: RawDatabase) => db.exec(`DELETE FROM journal_record WHERE seq > ${seq}`);
const lowerHead = (db: RawDatabase, seq: number) =>
  db.exec(
    `UPDATE journal_head SET seq = ${seq}, hash = (SELECT hash FROM journal_record WHERE seq = ${seq}), checkpoint_seq = min(checkpoint_seq, ${seq})`,
  );

type Attack = readonly [what: string, seq: number | null, act: (db: RawDatabase) => void];

const ON_RECORDS: readonly Attack[] = [
  [
    'a line is changed',
    9,
    (db) => db.exec(`UPDATE journal_record SET line = replace(line, 'ada', 'eve') WHERE seq = 9`),
  ],
  ['a line is no record any more', 9, (db) => db.exec(`UPDATE journal_record SET line = 'x' WHERE seq = 9`)],
  [
    'the first line is changed',
    1,
    (db) => db.exec(`UPDATE journal_record SET line = replace(line, '0.0.0', '9.9.9') WHERE seq = 1`),
  ],
  [
    'the last line is changed',
    COUNT,
    (db) =>
      db.exec(
        `UPDATE journal_record SET line = replace(line, 'call_open', 'call_shut') WHERE seq = ${COUNT}`,
      ),
  ],
  [
    'the column of the principal is changed',
    9,
    (db) => db.exec(`UPDATE journal_record SET principal = 'agent:eve' WHERE seq = 9`),
  ],
  [
    'the column of the call is emptied',
    9,
    (db) => db.exec('UPDATE journal_record SET call = NULL WHERE seq = 9'),
  ],
  [
    'the column of the time is changed',
    9,
    (db) => db.exec('UPDATE journal_record SET at_ms = at_ms + 1 WHERE seq = 9'),
  ],
  [
    'the stored hash is changed',
    9,
    (db) => db.exec('UPDATE journal_record SET hash = zeroblob(32) WHERE seq = 9'),
  ],
  ['a record is deleted', 9, (db) => db.exec('DELETE FROM journal_record WHERE seq = 9')],
  ['an intent is deleted', 8, (db) => db.exec('DELETE FROM journal_record WHERE seq = 8')],
  [
    'a record is deleted and the rest moved up',
    9,
    (db) => {
      db.exec('DELETE FROM journal_record WHERE seq = 9');
      shiftDown(db, 9);
    },
  ],
  [
    'a record is inserted',
    9,
    (db) => {
      shiftUp(db, 9);
      db.exec(
        `INSERT INTO journal_record (seq, ${COLUMNS}) SELECT 9, ${COLUMNS} FROM journal_record WHERE seq = 4`,
      );
    },
  ],
  [
    'a record is there twice',
    10,
    (db) => {
      shiftUp(db, 10);
      db.exec(
        `INSERT INTO journal_record (seq, ${COLUMNS}) SELECT 10, ${COLUMNS} FROM journal_record WHERE seq = 9`,
      );
    },
  ],
  [
    'two records change places',
    9,
    (db) => {
      db.exec('UPDATE journal_record SET seq = -1 WHERE seq = 9');
      db.exec('UPDATE journal_record SET seq = 9 WHERE seq = 10');
      db.exec('UPDATE journal_record SET seq = 10 WHERE seq = -1');
    },
  ],
  ['the tail is cut off', 20, cutAt(19)],
  [
    'a record stands after the last',
    COUNT + 1,
    (db) =>
      db.exec(
        `INSERT INTO journal_record (seq, ${COLUMNS}) SELECT ${COUNT + 1}, ${COLUMNS} FROM journal_record WHERE seq = 9`,
      ),
  ],
  [
    'the head names another last record',
    COUNT,
    (db) => db.exec('UPDATE journal_head SET hash = zeroblob(32)'),
  ],
  [
    'the head has another tree',
    null,
    (db) => db.exec('UPDATE journal_head SET frontier = zeroblob(length(frontier))'),
  ],
  ['the head has another origin', null, (db) => db.exec('UPDATE journal_head SET origin = zeroblob(32)')],
  ['an open call is taken off the list', null, (db) => db.exec('DELETE FROM journal_open')],
  [
    'a call is put on the list',
    null,
    (db) => db.exec("INSERT INTO journal_open VALUES ('call_0', 'p_x', 2)"),
  ],
];

const ON_SIGNED: readonly Attack[] = [
  ['a line is changed and its hash with it', 9, (db) => forge(db, 9, addNote)],
  ['the last line is changed and its hash with it', COUNT, (db) => forge(db, COUNT, addNote)],
  [
    'the tail is cut off and the head adjusted',
    20,
    (db) => {
      cutAt(19)(db);
      lowerHead(db, 19);
      db.exec('DELETE FROM journal_open');
    },
  ],
  ['the checkpoint is deleted', null, (db) => db.exec('DELETE FROM journal_checkpoint')],
  ['the checkpoint is no envelope', null, (db) => db.exec("UPDATE journal_checkpoint SET envelope = 'x'")],
  ['the checkpoint has another size', null, (db) => db.exec('UPDATE journal_checkpoint SET size = size - 1')],
  [
    'the checkpoint has another signature',
    null,
    (db) => db.exec(`UPDATE journal_checkpoint SET envelope = replace(envelope, '"sig":"', '"sig":"AAAA')`),
  ],
];

describe('verifyLive()', () => {
  it.each([true, false])('finds nothing wrong where nothing is (signed to the end: %s)', async (isSigned) => {
    const records = await lived(isSigned);
    expect(await verified(records)).toMatchObject({ ok: true, records: COUNT, firstBad: null });
  });

  it.each(ON_RECORDS)('finds that %s, before it is signed', async (_, seq, act) => {
    const records = await lived(false);
    tamper(records.stateDir, act);
    expect(await verified(records)).toMatchObject({ ok: false, firstBad: { seq } });
  });

  it.each([...ON_RECORDS, ...ON_SIGNED])('finds that %s', async (_, seq, act) => {
    const records = await lived(true);
    tamper(records.stateDir, act);
    const { ok, firstBad, checks } = await verified(records);
    expect([ok, firstBad?.seq]).toEqual([false, seq]);
    expect(checks.some((check) => !check.ok)).toBe(true);
  });

  it('trusts no key but those it is given', async () => {
    const records = await lived(true);
    const strange = new Keys(tempDir());
    strange.createFirst(NOON);
    const ring = await parseKeyRing(strange.export(), nodePrimitives);
    if (!ring.ok) throw new Error(ring.why);
    const { ok, firstBad } = await verifyLive(records, ring.keys, nodePrimitives);
    expect([ok, firstBad?.seq]).toEqual([false, 3]);
    expect(firstBad?.why).toContain('signatures.0.keyid');
  });

  const ABOUT = { principal: 'agent:ada', tool: 'palisade.echo', tenant: 'default' };
  it.each([
    ['no receipt', () => ({})],
    [
      'the receipt of another call',
      (receipt: string) => ({ envelope: JSON.parse(receipt), receipt: digestBytes(payloadOf(receipt)) }),
    ],
    ['a receipt that nobody signed', () => ({ envelope: { payload: '' } })],
  ])('finds an ending that holds %s, in a chain that holds', async (_, bodyFor) => {
    for (const isSigned of [false, true]) {
      const records = await lived(isSigned);
      const { store, journal, presence } = records;
      const seq = store.transact((tx) => {
        journal.append(tx, draft({ ...ABOUT, kind: 'intent', call: 'call_a', opens: presence.id }));
        const receipt = endCall(records, tx, 'call_a');
        const body = { status: 'ok', code: 'ok', ...bodyFor(receipt) };
        return journal.append(tx, draft({ ...ABOUT, kind: 'refused', call: 'call_b', body })).seq;
      });
      expect(await verified(records)).toMatchObject({ ok: false, firstBad: { seq } });
      store.transact((tx) => journal.checkpoint(tx));
      expect(await verified(records)).toMatchObject({ ok: false, firstBad: { seq } });
    }
  });

  it('finds a tile that was changed, which would spoil every proof', async () => {
    const records = await openTestRecords();
    const { store, journal, stateDir } = records;
    store.transact((tx) => {
      for (let i = 0; i < 600; i++) journal.append(tx, draft({ body: { i } }));
    });
    tamper(stateDir, (db) => db.exec('UPDATE journal_tile SET hash = zeroblob(32) WHERE tile = 1'));
    expect(await verified(records)).toMatchObject({ ok: false, firstBad: { seq: 512 } });
    tamper(stateDir, (db) => db.exec('DELETE FROM journal_tile WHERE tile = 1'));
    expect(await verified(records)).toMatchObject({ ok: false, firstBad: { seq: 512 } });
  });
});
