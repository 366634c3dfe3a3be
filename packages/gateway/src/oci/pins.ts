/* What tags stood for when they were used here: a tag can be moved, and its reader should hear of it. */
import type { Migration } from '../store/migrate.ts';
import { insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';
import type { OciDigest } from './reference.ts';

export type TagPin = {
  /** `host/name:tag`. */
  readonly reference: string;
  /** Of the manifest. */
  readonly digest: OciDigest;
  readonly seenAtMs: number;
  readonly seenBy: string;
};

type PinRow = { reference: string; digest: string; seen_at_ms: number; seen_by: string };

const query = queries<{ oci_tag: PinRow }>();
const selectPin = query<{ reference: string }>()((db, p) =>
  db.selectFrom('oci_tag').selectAll().where('reference', '=', p('reference')),
);
const writePin = insertInto<PinRow>('oci_tag', 'replace');

/** What the tag stood for when it was last used; null: it never was. */
export function tagPin(reader: Reader, reference: string): TagPin | null {
  const row = reader.get(selectPin, { reference });
  if (row === undefined) return null;
  return { reference, digest: row.digest as OciDigest, seenAtMs: row.seen_at_ms, seenBy: row.seen_by };
}

export function pinTag(tx: Transaction, { reference, digest, seenAtMs, seenBy }: TagPin): void {
  tx.run(writePin, { reference, digest, seen_at_ms: seenAtMs, seen_by: seenBy });
}

export const ociMigrations: readonly Migration[] = [
  {
    id: 'oci/001',
    sql: `
CREATE TABLE oci_tag (
  reference TEXT PRIMARY KEY,
  digest TEXT NOT NULL,
  seen_at_ms INTEGER NOT NULL,
  seen_by TEXT NOT NULL
) STRICT;`,
  },
];
