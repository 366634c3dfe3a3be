import { type Primitives, parseKeyRing } from '@palisade/sdk';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { digestBytes } from '../core/digest.ts';
import { accept, type Result, reject } from '../core/result.ts';
import type { Reader, Transaction } from '../store/transaction.ts';
import { query } from './tables.ts';

/*
 * The keys that publishers sign with, as the operator (or, where that is configured, the first use) registered them. A
 * key belongs to one publisher. It is never forgotten: a key that was revoked stays revoked, and its publisher stays
 * one that had a key, so that first use cannot happen twice.
 */

export type TrustedKey = {
  readonly publisher: string;
  /** `sha256:` and the digest of the public key. */
  readonly keyId: string;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly addedAtMs: number;
  readonly addedBy: string;
  readonly origin: TrustOrigin;
  /** The first moment at which it no longer counts; null: never. */
  readonly expiresAtMs: number | null;
  /** Another key replaced it: what it signed before keeps running, and it can install nothing new. */
  readonly retiredAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** Why it was revoked. */
  readonly reason: string | null;
};

export type NewKey = Pick<
  TrustedKey,
  'publisher' | 'keyId' | 'publicKey' | 'addedAtMs' | 'addedBy' | 'origin' | 'expiresAtMs'
>;

const KEY_COLUMNS = [
  'publisher',
  'key_id as keyId',
  'public_key as publicKey',
  'added_at_ms as addedAtMs',
  'added_by as addedBy',
  'origin',
  'expires_at_ms as expiresAtMs',
  'retired_at_ms as retiredAtMs',
  'revoked_at_ms as revokedAtMs',
  'reason',
] as const;

const selectKeys = query()((db) =>
  db
    .selectFrom('skill_key')
    .select(KEY_COLUMNS)
    .orderBy('publisher')
    .orderBy('added_at_ms')
    .orderBy('key_id'),
);

const selectKeysOf = query<{ publisher: string }>()((db, p) =>
  db
    .selectFrom('skill_key')
    .select(KEY_COLUMNS)
    .where('publisher', '=', p('publisher'))
    .orderBy('added_at_ms')
    .orderBy('key_id'),
);

const selectKey = query<{ keyId: string }>()((db, p) =>
  db.selectFrom('skill_key').select(KEY_COLUMNS).where('key_id', '=', p('keyId')),
);

const putKey = query<TrustedKey>()((db, p) =>
  db.replaceInto('skill_key').values({
    publisher: p('publisher'),
    key_id: p('keyId'),
    public_key: p('publicKey'),
    added_at_ms: p('addedAtMs'),
    added_by: p('addedBy'),
    origin: p('origin'),
    expires_at_ms: p('expiresAtMs'),
    retired_at_ms: p('retiredAtMs'),
    revoked_at_ms: p('revokedAtMs'),
    reason: p('reason'),
  }),
);

/** All keys of a publisher, or of all, also those that no longer count; by publisher, the oldest first. */
export function keysOf(reader: Reader, publisher?: string): readonly TrustedKey[] {
  const rows = publisher === undefined ? reader.all(selectKeys, {}) : reader.all(selectKeysOf, { publisher });
  return rows.map(checkedKey);
}

/** The key of that id; null if it is unknown. */
export function keyAt(reader: Reader, keyId: string): TrustedKey | null {
  const row = reader.get(selectKey, { keyId });
  return row === undefined ? null : checkedKey(row);
}

/**
 * Registers a key. An operator may add one again (it expires later, or it comes back from retirement); a revoked key
 * cannot come back, and first use is only for publishers that never had a key. Otherwise `skill/conflict`.
 */
export function addKey(tx: Transaction, added: NewKey): TrustedKey {
  const { publisher, keyId, origin } = added;
  if (keyId !== idOf(added.publicKey))
    throw new TypeError(`Cannot add key: "${keyId}" is not the digest of its bytes`);
  const there = keyAt(tx, keyId);
  // Boundary: a revocation is deliberate, and a thief may still have the key.
  if (there?.revokedAtMs != null)
    throw conflict(added, 'it was revoked, expected a key that was never revoked');
  if (there !== null && there.publisher !== publisher)
    throw conflict(added, `it belongs to "${there.publisher}", expected a key of its own`);
  // Boundary: of two simultaneous first uses, only one succeeds.
  if (origin === 'first-use' && keysOf(tx, publisher).length > 0)
    throw conflict(added, 'it is not the first key of its publisher, expected an operator to add it');
  return put(tx, { ...added, retiredAtMs: null, revokedAtMs: null, reason: null });
}

export type Revoking = { readonly keyId: string; readonly atMs: number; readonly reason: string | null };

/** Revokes a key permanently; a revoked one stays as it is. Throws `skill/untrusted` for an unknown one. */
export function revokeKey(tx: Transaction, { keyId, atMs, reason }: Revoking): TrustedKey {
  const key = keyAt(tx, keyId);
  if (key === null) {
    throw new CodedError(
      'skill/untrusted',
      `Cannot revoke the key ${keyId}: it is not known, expected one of \`palisade trust list\``,
      { remedy: 'List the keys with `palisade trust list`.' },
    );
  }
  return key.revokedAtMs === null ? put(tx, { ...key, revokedAtMs: atMs, reason }) : key;
}

/** Retires the keys of a publisher that still count, but for one; returns those that it retired. */
export function retireKeys(
  tx: Transaction,
  publisher: string,
  exceptKeyId: string,
  atMs: number,
): readonly TrustedKey[] {
  const old = keysOf(tx, publisher).filter(
    ({ keyId, retiredAtMs, revokedAtMs }) =>
      keyId !== exceptKeyId && retiredAtMs === null && revokedAtMs === null,
  );
  return old.map((key) => put(tx, { ...key, retiredAtMs: atMs }));
}

function put(tx: Transaction, key: TrustedKey): TrustedKey {
  tx.run(putKey, key);
  return key;
}

function checkedKey(row: TrustedKey): TrustedKey {
  const publicKey = new Uint8Array(row.publicKey);
  // Boundary: a key that does not match its id verifies nothing.
  if (row.keyId === idOf(publicKey)) return { ...row, publicKey };
  throw new CodedError(
    'store/corrupt',
    `Cannot read the key ${row.keyId}: its bytes are those of another, expected the row as it was written`,
  );
}

function idOf(publicKey: Uint8Array): string {
  return `sha256:${digestBytes(publicKey)}`;
}

function conflict({ publisher, keyId }: NewKey, is: string): CodedError {
  return new CodedError('skill/conflict', `Cannot trust the key ${keyId} for "${publisher}": ${is}`, {
    remedy: 'See what is trusted with `palisade trust list`; ask the publisher for a key of its own.',
  });
}

export type TrustAsked = {
  /** That the manifest names. */
  readonly publisher: string;
  /** The key that signed; null if unsigned. */
  readonly keyId: string | null;
  readonly nowMs: number;
  /** Whether something new is to come in, or what is here is to run. */
  readonly use: 'install' | 'load';
  /** What the operator says of publishers that never had a key. Left out: they are refused. */
  readonly firstUse?: 'refuse' | 'trust';
};

/** Whether a key may sign for a publisher at a given time. Keys of other publishers are ignored. */
export function trustFor(keys: readonly TrustedKey[], asked: TrustAsked): TrustVerdict {
  const { publisher, keyId, nowMs, use } = asked;
  if (keyId === null) return { ok: false, code: 'skill/unsigned', why: 'it has no signature' };
  const key = keys.find((each) => each.keyId === keyId);
  if (key === undefined) return judgeUnknown(keys, asked);
  const problem = problemOf(key, { publisher, nowMs, use });
  if (problem === null) return { ok: true, how: key.origin };
  return untrusted(`the key ${keyId} ${problem}`);
}

type Judging = Pick<TrustAsked, 'publisher' | 'nowMs' | 'use'>;

function problemOf(key: TrustedKey, { publisher, nowMs, use }: Judging): string | null {
  const { expiresAtMs, retiredAtMs, revokedAtMs, reason } = key;
  // Boundary: a key is valid for one publisher; its holder cannot sign for another.
  if (key.publisher !== publisher)
    return `belongs to the publisher "${key.publisher}", expected a key of "${publisher}"`;
  // That it was revoked or retired counts, not when: setting the clock back does not revive it.
  if (revokedAtMs !== null) {
    return `was revoked at ${isoTime(revokedAtMs)}${reason === null ? '' : ` (${reason})`}, expected another key`;
  }
  if (expiresAtMs !== null && nowMs >= expiresAtMs)
    return `expired at ${isoTime(expiresAtMs)}, expected one that is valid now`;
  if (retiredAtMs !== null && use === 'install') {
    return `was retired at ${isoTime(retiredAtMs)}, expected the one that took its place`;
  }
  return null;
}

function judgeUnknown(keys: readonly TrustedKey[], asked: TrustAsked): TrustVerdict {
  const { publisher, keyId, use, firstUse } = asked;
  // Boundary: a publisher that ever had a key, also one that was revoked, has lost its first use.
  const hasHadKey = keys.some((key) => key.publisher === publisher);
  if (!hasHadKey && use === 'install' && firstUse === 'trust') return { ok: true, how: 'first-use' };
  return untrusted(
    hasHadKey
      ? `the key ${keyId} is not a key of the publisher "${publisher}", expected one that is trusted for it`
      : `the publisher "${publisher}" has no trusted key, expected ${keyId} to be added first`,
  );
}

function untrusted(why: string): TrustVerdict {
  return { ok: false, code: 'skill/untrusted', why };
}

/** Whether the key that signed a package may sign for its publisher, and who decided so; or why not. */
export type TrustVerdict =
  | { readonly ok: true; readonly how: TrustOrigin }
  | {
      readonly ok: false;
      readonly code: 'skill/unsigned' | 'skill/untrusted';
      /** A clause for a message: `Cannot install …: WHY`. */
      readonly why: string;
    };

/** How a key came to be trusted: the operator added it, or it was the first of its publisher. */
export type TrustOrigin = 'operator' | 'first-use';

type ReadKey = Result<Pick<TrustedKey, 'keyId' | 'publicKey'>, string>;

/** The one key of a public key document, whose own signature is valid. */
export async function readPublicKey(document: string, primitives: Primitives): Promise<ReadKey> {
  const ring = await parseKeyRing(document, primitives);
  if (!ring.ok) return reject(ring.why);
  const { keys } = ring.keys;
  const [key] = keys.values();
  if (key === undefined || keys.size > 1) return reject(`there are ${keys.size} keys, expected one`);
  return accept({ keyId: key.keyId, publicKey: key.publicKey });
}
