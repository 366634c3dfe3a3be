/* Which packages were fetched: for each source the one tree that it stands for, until an operator fetches another. */
import type { Digest } from '../core/digest.ts';
import type { Migration } from '../store/migrate.ts';
import { insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';
import type { RegistryKind } from './runners.table.ts';

export type PackagePin = {
  /** As `sourceOf` names it: `npm:@acme/server@1.2.3`. */
  readonly source: string;
  readonly registry: RegistryKind;
  /** The version that the registry gave, and what the installer verified its archive by; null where it tells none. */
  readonly version: string;
  readonly integrity: string | null;
  /** Of all files. */
  readonly digest: Digest;
  readonly files: number;
  readonly bytes: number;
  /** Its programs by name, as paths in the tree. */
  readonly programs: Readonly<Record<string, string>>;
  /** The one that runs where none is named; null: it has several. */
  readonly main: string | null;
  readonly fetchedBy: string;
  readonly fetchedAtMs: number;
  /** The call that fetched it. */
  readonly call: string;
};

const query = queries<{ package_pin: PinRow }>();
const selectPin = query<{ source: string }>()((db, p) =>
  db.selectFrom('package_pin').selectAll().where('source', '=', p('source')),
);
const selectPins = query()((db) => db.selectFrom('package_pin').selectAll().orderBy('source'));
const deletePin = query<{ source: string }>()((db, p) =>
  db.deleteFrom('package_pin').where('source', '=', p('source')),
);
const writePin = insertInto<PinRow>('package_pin', 'replace');

/** The package of a source; null where it was never fetched. */
export function packagePin(reader: Reader, source: string): PackagePin | null {
  const row = reader.get(selectPin, { source });
  return row === undefined ? null : pinFrom(row);
}

export function packagePins(reader: Reader): readonly PackagePin[] {
  return reader.all(selectPins, {}).map(pinFrom);
}

/** Makes this the package of its source. */
export function pinPackage(tx: Transaction, pin: PackagePin): void {
  const { programs, fetchedBy, fetchedAtMs, ...row } = pin;
  tx.run(writePin, {
    ...row,
    programs: JSON.stringify(programs),
    fetched_by: fetchedBy,
    fetched_at_ms: fetchedAtMs,
  });
}

export function unpinPackage(tx: Transaction, source: string): void {
  tx.run(deletePin, { source });
}

function pinFrom({ programs, fetched_by, fetched_at_ms, ...row }: PinRow): PackagePin {
  return { ...row, programs: JSON.parse(programs), fetchedBy: fetched_by, fetchedAtMs: fetched_at_ms };
}

type PinRow = Omit<PackagePin, 'programs' | 'fetchedBy' | 'fetchedAtMs'> & {
  programs: string;
  fetched_by: string;
  fetched_at_ms: number;
};

export const packageMigrations: readonly Migration[] = [
  {
    id: 'packages/001',
    sql: `
CREATE TABLE package_pin (
  source TEXT PRIMARY KEY,
  registry TEXT NOT NULL CHECK (registry IN ('npm', 'pypi')),
  version TEXT NOT NULL,
  integrity TEXT,
  digest TEXT NOT NULL,
  files INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  programs TEXT NOT NULL,
  main TEXT,
  fetched_by TEXT NOT NULL,
  fetched_at_ms INTEGER NOT NULL,
  call TEXT NOT NULL
) STRICT;`,
  },
];
