import { join } from 'node:path';
import fc from 'fast-check';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import { digestBytes } from '../../src/core/digest.ts';
import { epochOf } from '../../src/skills/index/read.ts';
import { skillsMigrations } from '../../src/skills/tables.ts';
import {
  addKey,
  keyAt,
  keysOf,
  type NewKey,
  retireKeys,
  revokeKey,
  type TrustAsked,
  type TrustedKey,
  trustFor,
} from '../../src/skills/trust.ts';
import { openStore } from '../budget/temp-store.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { NOON } from './index-sample.ts';

const HOUR_MS = 3_600_000;

function newKey(seed: string, more: Partial<NewKey> = {}): NewKey {
  const publicKey = Buffer.from(digestBytes(seed), 'hex');
  return {
    ...{ publisher: 'acme', keyId: `sha256:${digestBytes(publicKey)}`, publicKey: new Uint8Array(publicKey) },
    ...{ addedAtMs: NOON, addedBy: 'user:grace', origin: 'operator', expiresAtMs: null },
    ...more,
  };
}

function key(seed: string, more: Partial<TrustedKey> = {}): TrustedKey {
  return { ...newKey(seed), retiredAtMs: null, revokedAtMs: null, reason: null, ...more };
}

function idOf(seed: string): string {
  return newKey(seed).keyId;
}

const FOR_A: TrustAsked = { publisher: 'acme', keyId: idOf('a'), nowMs: NOON, use: 'install' };

type Case = readonly [what: string, keys: readonly TrustedKey[], asked: Partial<TrustAsked>, ending: string];

describe('trustFor()', () => {
  it.each<Case>([
    ['the key of an operator', [key('a')], {}, 'operator'],
    ['the key of an operator, to run', [key('a')], { use: 'load' }, 'operator'],
    ['a key of the first use, once it is kept', [key('a', { origin: 'first-use' })], {}, 'first-use'],
    [
      'a key of the first use, to run, although first uses are refused by now',
      [key('a', { origin: 'first-use' })],
      { use: 'load', firstUse: 'refuse' },
      'first-use',
    ],
    ['one of several keys', [key('b'), key('a')], {}, 'operator'],
    ['no signature', [key('a')], { keyId: null }, 'skill/unsigned'],
    ['no signature of a new publisher', [], { keyId: null, firstUse: 'trust' }, 'skill/unsigned'],

    ['an unknown publisher', [], {}, 'has no trusted key, expected sha256:'],
    ['an unknown publisher, first uses refused', [], { firstUse: 'refuse' }, 'has no trusted key'],
    ['an unknown publisher, first uses trusted', [], { firstUse: 'trust' }, 'first-use'],
    ['an unknown publisher, to run', [], { firstUse: 'trust', use: 'load' }, 'has no trusted key'],
    [
      'an unknown publisher beside a known one',
      [key('b', { publisher: 'other' })],
      { firstUse: 'trust' },
      'first-use',
    ],
    [
      'another key of a known publisher',
      [key('b')],
      { firstUse: 'trust' },
      'is not a key of the publisher "acme"',
    ],
    [
      'the key of another publisher',
      [key('a', { publisher: 'other' })],
      {},
      'belongs to the publisher "other", expected a key of "acme"',
    ],
    [
      'the key of another publisher, as a first use',
      [key('a', { publisher: 'other' })],
      { firstUse: 'trust' },
      'belongs to the publisher "other"',
    ],

    [
      'a retired key, for something new',
      [key('a', { retiredAtMs: NOON - 1 })],
      {},
      'was retired at 2026-05-01T11:59:59.999Z',
    ],
    ['a retired key, for what is here', [key('a', { retiredAtMs: NOON - 1 })], { use: 'load' }, 'operator'],
    [
      'a key that was retired by a clock that is ahead',
      [key('a', { retiredAtMs: NOON + HOUR_MS })],
      {},
      'was retired at',
    ],
    ['a key that is about to expire', [key('a', { expiresAtMs: NOON + 1 })], {}, 'operator'],
    [
      'a key that expires at this moment',
      [key('a', { expiresAtMs: NOON })],
      {},
      'expired at 2026-05-01T12:00:00.000Z',
    ],
    ['an expired key, to run', [key('a', { expiresAtMs: NOON })], { use: 'load' }, 'expired at'],
    [
      'a retired key that expired, to run',
      [key('a', { retiredAtMs: NOON - 5, expiresAtMs: NOON - 1 })],
      { use: 'load' },
      'expired at',
    ],
    [
      'a revoked key',
      [key('a', { revokedAtMs: NOON - 1, reason: 'it was stolen' })],
      {},
      'was revoked at 2026-05-01T11:59:59.999Z (it was stolen)',
    ],
    ['a revoked key, to run', [key('a', { revokedAtMs: NOON })], { use: 'load' }, 'was revoked at'],
    [
      'a key that was revoked by a clock that is ahead',
      [key('a', { revokedAtMs: NOON + HOUR_MS })],
      { use: 'load' },
      'was revoked at',
    ],
    [
      'a first use by a publisher whose only key was revoked',
      [key('b', { revokedAtMs: NOON })],
      { firstUse: 'trust' },
      'is not a key of the publisher "acme"',
    ],
    [
      'a first use by a publisher whose only key has expired',
      [key('b', { expiresAtMs: NOON - 1 })],
      { firstUse: 'trust' },
      'is not a key of the publisher "acme"',
    ],
  ])('judges %s', (_, keys, requested, ending) => {
    const verdict = trustFor(keys, { ...FOR_A, ...requested });
    if (verdict.ok) expect(verdict.how).toBe(ending);
    else expect(verdict.code === 'skill/unsigned' ? verdict.code : verdict.why).toContain(ending);
  });

  it('never trusts a key more than one that is neither revoked, expired nor retired', () => {
    const time = fc.option(fc.integer({ min: NOON - 3, max: NOON + 3 }), { nil: null });
    const some = fc.record({ seed: fc.constantFrom('a', 'b'), publisher: fc.constantFrom('acme', 'other') });
    const keys = fc.array(fc.record({ of: some, expiresAtMs: time, retiredAtMs: time, revokedAtMs: time }), {
      maxLength: 3,
    });
    const requested = fc.record({
      use: fc.constantFrom('install', 'load'),
      firstUse: fc.constantFrom('refuse', 'trust'),
    });
    let trusted = 0;
    fc.assert(
      fc.property(keys, requested, (rows, { use, firstUse }) => {
        const made = rows.map(({ of, ...times }) => key(of.seed, { publisher: of.publisher, ...times }));
        const verdict = trustFor(made, { ...FOR_A, use, firstUse } as TrustAsked);
        if (!verdict.ok) return;
        trusted += 1;
        const mine = made.filter(({ publisher }) => publisher === 'acme');
        const isGood = (each: TrustedKey) =>
          each.keyId === FOR_A.keyId &&
          each.revokedAtMs === null &&
          (each.expiresAtMs === null || each.expiresAtMs > NOON) &&
          (each.retiredAtMs === null || use === 'load');
        const isFirst = mine.length === 0 && use === 'install' && firstUse === 'trust';
        expect(isFirst || mine.some(isGood)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(trusted).toBeGreaterThan(100);
  });
});

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof CodedError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'done';
}

function world() {
  const directory = tempDir();
  const store = openStore(directory, skillsMigrations);
  return {
    directory,
    store,
    add: (seed: string, more: Partial<NewKey> = {}) => store.transact((tx) => addKey(tx, newKey(seed, more))),
    revoke: (seed: string) =>
      store.transact((tx) => revokeKey(tx, { keyId: idOf(seed), atMs: NOON + 5, reason: 'it was stolen' })),
  };
}

describe('keys of publishers', () => {
  it('are kept with all that is known of them, the oldest first', () => {
    const { store, add } = world();
    const later = add('b', { addedAtMs: NOON + 1, expiresAtMs: NOON + HOUR_MS });
    const other = add('o', { publisher: 'other', origin: 'first-use' });
    const first = add('a');
    expect(first).toEqual(key('a'));
    expect(keysOf(store, 'acme')).toEqual([first, later]);
    expect(keysOf(store)).toEqual([first, later, other]);
    expect(keysOf(store, 'nobody')).toEqual([]);
    expect([keyAt(store, idOf('o')), keyAt(store, idOf('x'))]).toEqual([other, null]);
  });

  it('move the epoch on with every change', () => {
    const { store, add, revoke } = world();
    const epochs = [epochOf(store)];
    const note = (act: () => unknown) => {
      act();
      epochs.push(epochOf(store));
    };
    note(() => add('a'));
    note(() => add('b'));
    note(() => store.transact((tx) => retireKeys(tx, 'acme', idOf('b'), NOON)));
    note(() => revoke('a'));
    expect(new Set(epochs).size).toBe(epochs.length);
  });

  it('can be added again by an operator, who may prolong them and bring them back', () => {
    const { store, add } = world();
    add('a', { origin: 'first-use', expiresAtMs: NOON });
    store.transact((tx) => retireKeys(tx, 'acme', idOf('b'), NOON));
    expect(keysOf(store, 'acme')).toMatchObject([{ retiredAtMs: NOON, origin: 'first-use' }]);
    add('a', { expiresAtMs: NOON + HOUR_MS });
    expect(keysOf(store, 'acme')).toEqual([key('a', { expiresAtMs: NOON + HOUR_MS })]);
  });

  it('belong to one publisher', () => {
    const { store, add } = world();
    add('a');
    expect(refusal(() => add('a', { publisher: 'other' }))).toBe(
      `skill/conflict: Cannot trust the key ${idOf('a')} for "other": it belongs to "acme", expected a key of its own`,
    );
    expect(keysOf(store, 'other')).toEqual([]);
  });

  it('stay revoked, even if they are added again', () => {
    const { store, add, revoke } = world();
    add('a');
    expect(revoke('a')).toEqual(key('a', { revokedAtMs: NOON + 5, reason: 'it was stolen' }));
    for (const more of [{}, { publisher: 'other' }, { origin: 'first-use' as const }]) {
      expect(refusal(() => add('a', more))).toContain('skill/conflict: ');
    }
    // A second revocation does not hide when the first was.
    const again = store.transact((tx) => revokeKey(tx, { keyId: idOf('a'), atMs: NOON + 9, reason: 'oops' }));
    expect(again).toMatchObject({ revokedAtMs: NOON + 5, reason: 'it was stolen' });
    expect(keysOf(store)).toEqual([again]);
  });

  it('come in as the first use only of a publisher that never had one', () => {
    const { store, add, revoke } = world();
    add('a', { origin: 'first-use' });
    expect(refusal(() => add('b', { origin: 'first-use' }))).toContain(
      'it is not the first key of its publisher',
    );
    revoke('a');
    expect(refusal(() => add('b', { origin: 'first-use' }))).toContain('skill/conflict');
    expect(keysOf(store).map(({ keyId }) => keyId)).toEqual([idOf('a')]);
  });

  it('come in as the first use once, when two connections try at the same time', async () => {
    const { directory, store } = world();
    const other = openStore(directory, skillsMigrations);
    const endings = await Promise.allSettled(
      [store, other].map((each, i) =>
        each.commit((tx) => addKey(tx, newKey(`racer ${i}`, { origin: 'first-use' }))),
      ),
    );
    expect(endings.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(endings.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'skill/conflict' },
    });
    expect(keysOf(store, 'acme')).toHaveLength(1);
  });

  it('are retired by a rotation, but for the new one and those that count no more', () => {
    const { store, add, revoke } = world();
    for (const seed of ['a', 'b', 'c', 'd']) add(seed);
    add('o', { publisher: 'other' });
    revoke('c');
    const retired = store.transact((tx) => retireKeys(tx, 'acme', idOf('d'), NOON + 7));
    expect(retired.map(({ keyId }) => keyId).sort()).toEqual([idOf('a'), idOf('b')].sort());
    expect(store.transact((tx) => retireKeys(tx, 'acme', idOf('d'), NOON + 9))).toEqual([]);
    const times = keysOf(store).map(({ keyId, retiredAtMs }) => [keyId, retiredAtMs]);
    expect(new Map(times as [string, number | null][])).toEqual(
      new Map([
        [idOf('a'), NOON + 7],
        [idOf('b'), NOON + 7],
        [idOf('c'), null],
        [idOf('d'), null],
        [idOf('o'), null],
      ]),
    );
  });

  it('that nobody knows cannot be revoked', () => {
    expect(refusal(() => world().revoke('a'))).toContain(
      `skill/untrusted: Cannot revoke the key ${idOf('a')}: it is not known`,
    );
  });

  it('are refused when their bytes were exchanged under their id', () => {
    const { directory, store, add } = world();
    add('a');
    const db = new Database(join(directory, 'palisade.db'));
    db.prepare('UPDATE skill_key SET public_key = ?').run([Buffer.from(newKey('evil').publicKey)]);
    db.close();
    for (const look of [() => keysOf(store), () => keysOf(store, 'acme'), () => keyAt(store, idOf('a'))]) {
      expect(refusal(look)).toContain(`store/corrupt: Cannot read the key ${idOf('a')}`);
    }
  });

  it('are not added under an id that is not theirs', () => {
    expect(() => world().add('a', { keyId: idOf('b') })).toThrow('is not the digest of its bytes');
  });
});
