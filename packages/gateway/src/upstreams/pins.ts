import type { UpstreamRule } from '../config/config.ts';
import { CodedError } from '../core/coded-error.ts';
import { type Digest, digestBytes, digestValue } from '../core/digest.ts';
import type { Migration } from '../store/migrate.ts';
import { insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';
import { type DefinitionSet, setFrom, setOf } from './definition.ts';

/*
 * What was accepted of each upstream server. The first set that a server ever offers is pinned, or held until a person
 * accepts it; from then on any other set puts the whole server into quarantine, until a person accepts it. This module
 * keeps the rows; who may accept, what is held, and what is written to the journal, is decided above.
 */

export type Pin = Readonly<Pick<PinRow, 'name' | 'state' | 'revision' | 'rule' | 'reason'>> & {
  /** Empty where nothing was accepted yet. */
  readonly accepted: DefinitionSet;
  /** What differs from that, as it was offered last; null where nothing was, or it could not be read. */
  readonly offered: DefinitionSet | null;
  /** Of the command that offered it. */
  readonly offeredRule: string | null;
  /** Null: its first offer is held, and nothing was ever accepted. */
  readonly acceptedBy: string | null;
  readonly acceptedAtMs: number | null;
  readonly changedAtMs: number;
};

/** A set of definitions, and the digest of the command that offers it. */
export type Offer = { readonly set: DefinitionSet; readonly rule: Digest };

type ByWhom = { readonly by: string; readonly nowMs: number };

const query = queries<UpstreamTables>();

const selectPin = query<{ name: string }>()((db, p) =>
  db.selectFrom('upstream_pin').selectAll().where('name', '=', p('name')),
);
const selectHead = query<{ name: string }>()((db, p) =>
  db
    .selectFrom('upstream_pin')
    .select(['state', 'revision', 'rule', 'accepted_by'])
    .where('name', '=', p('name')),
);
const selectEpoch = query()((db) =>
  db.selectFrom('upstream_pin').select((eb) => eb.fn.sum<number | null>('revision').as('epoch')),
);
const selectNames = query()((db) => db.selectFrom('upstream_pin').select('name').orderBy('name'));
const writePin = insertInto<PinRow>('upstream_pin', 'replace');

/** A number that differs after every change of a pin, whichever process made it. */
export function pinEpoch(reader: Reader): number {
  return reader.get(selectEpoch, {})?.epoch ?? 0;
}

/** All servers that were ever connected to. */
export function pinnedNames(reader: Reader): readonly string[] {
  return reader.all(selectNames, {}).map(({ name }) => name);
}

/** Enough to know whether a pin is still the one that was read, and whether it is accepted. */
export function pinHead(
  reader: Reader,
  name: string,
): Pick<Pin, 'state' | 'revision' | 'rule' | 'acceptedBy'> | null {
  const row = reader.get(selectHead, { name });
  if (row === undefined) return null;
  const { accepted_by: by, ...head } = row;
  return { ...head, acceptedBy: by === NO_ONE ? null : by };
}

/** The pin of a server; null where it was never connected to. */
export function pinOf(reader: Reader, name: string): Pin | null {
  const row = reader.get(selectPin, { name });
  return row === undefined ? null : pinFrom(row);
}

/** Pins what a server offers the first time. */
export function pinFirst(tx: Transaction, name: string, offer: Offer, whom: ByWhom): void {
  tx.run(writePin, { name, revision: 1, ...acceptedColumns(offer, whom) });
}

/** Holds what a server offers the first time: it is in quarantine, and nothing of it is accepted. */
export function holdFirst(
  tx: Transaction,
  name: string,
  offer: Offer,
  { reason, nowMs }: { readonly reason: string; readonly nowMs: number },
): void {
  const nothing = acceptedColumns({ set: setOf([]), rule: offer.rule }, { by: NO_ONE, nowMs });
  tx.run(writePin, { name, revision: 1, ...nothing, ...quarantinedColumns(offer, { reason, nowMs }) });
}

/** Stands in `accepted_by` of a server of which nothing was ever accepted. */
const NO_ONE = '';

function acceptedColumns({ set, rule }: Offer, { by, nowMs }: ByWhom) {
  return {
    state: 'accepted' as const,
    rule,
    accepted: set.text,
    digest: set.textDigest,
    reason: null,
    offered: null,
    offered_digest: null,
    offered_rule: null,
    accepted_by: by,
    accepted_at_ms: nowMs,
    changed_at_ms: nowMs,
  };
}

/** Puts a server into quarantine; `offer` is null where what it offers cannot be read. */
export function quarantine(
  tx: Transaction,
  name: string,
  offer: Offer | null,
  why: { readonly reason: string; readonly nowMs: number },
): void {
  change(tx, name, quarantinedColumns(offer, why));
}

function quarantinedColumns(
  offer: Offer | null,
  { reason, nowMs }: { readonly reason: string; readonly nowMs: number },
) {
  return {
    state: 'quarantined' as const,
    reason,
    changed_at_ms: nowMs,
    offered: offer?.set.text ?? null,
    offered_digest: offer?.set.textDigest ?? null,
    offered_rule: offer?.rule ?? null,
  };
}

/** Accepts the offer, and ends the quarantine. */
export function accept(tx: Transaction, name: string, offer: Offer, whom: ByWhom): void {
  change(tx, name, acceptedColumns(offer, whom));
}

/** Stores which resources a server has now; nothing else that was accepted changes. */
export function relist(tx: Transaction, name: string, set: DefinitionSet): void {
  change(tx, name, { accepted: set.text, digest: set.textDigest });
}

function change(tx: Transaction, name: string, fields: Partial<PinRow>): void {
  const row = tx.get(selectPin, { name });
  if (row === undefined)
    throw new CodedError('upstream/unknown', `Cannot change the pin of "${name}": it does not exist`);
  tx.run(writePin, { ...row, ...fields, revision: row.revision + 1 });
}

function pinFrom(row: PinRow): Pin {
  const { name, state, revision, rule, reason } = row;
  return {
    name,
    state,
    revision,
    rule,
    reason,
    accepted: storedSet(name, row.accepted, row.digest),
    offered: row.offered === null ? null : storedSet(name, row.offered, row.offered_digest),
    offeredRule: row.offered_rule,
    acceptedBy: row.accepted_by === NO_ONE ? null : row.accepted_by,
    acceptedAtMs: row.accepted_by === NO_ONE ? null : row.accepted_at_ms,
    changedAtMs: row.changed_at_ms,
  };
}

function storedSet(name: string, text: string, digest: string | null): DefinitionSet {
  // Boundary: a row that was written by hand is not what was accepted.
  if (digestBytes(text) !== digest)
    throw new CodedError('store/corrupt', `Cannot read the pin of "${name}": it is not what was accepted`);
  return setFrom(text);
}

type PinRow = {
  name: string;
  /** Of the command that was accepted. */
  rule: string;
  state: 'accepted' | 'quarantined';
  /** Grows with every change of the row. */
  revision: number;
  /** The accepted set as canonical JSON, and its digest. */
  accepted: string;
  digest: string;
  /** What was offered last, where that differs; null where it is the same, or could not be read. */
  offered: string | null;
  offered_digest: string | null;
  offered_rule: string | null;
  /** Why it is in quarantine; null where it is not. */
  reason: string | null;
  accepted_by: string;
  accepted_at_ms: number;
  changed_at_ms: number;
};

type UpstreamTables = { upstream_pin: PinRow };

/** The tables of this module. Rows are never deleted, so that the sum of their revisions only grows. */
export const upstreamMigrations: readonly Migration[] = [
  {
    id: 'upstreams/001',
    sql: `
CREATE TABLE upstream_pin (
  name TEXT PRIMARY KEY,
  rule TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('accepted', 'quarantined')),
  revision INTEGER NOT NULL CHECK (revision > 0),
  accepted TEXT NOT NULL,
  digest TEXT NOT NULL,
  offered TEXT,
  offered_digest TEXT,
  offered_rule TEXT,
  reason TEXT,
  accepted_by TEXT NOT NULL,
  accepted_at_ms INTEGER NOT NULL,
  changed_at_ms INTEGER NOT NULL
) STRICT;`,
  },
];

/** What decides which program answers: another command, or other variables, are another server. */
export function ruleDigest({ command, env }: UpstreamRule): Digest {
  return digestValue({ command: [...command], env: [...env].sort() });
}
