import type { Migration } from '../store/migrate.ts';
import { queries } from '../store/transaction.ts';

export const policyMigrations: readonly Migration[] = [
  {
    id: 'policy/001',
    sql: `
      CREATE TABLE policy_set (
        digest TEXT PRIMARY KEY,
        policies_json TEXT NOT NULL,
        activated_at_ms INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE policy_active (
        slot INTEGER PRIMARY KEY CHECK (slot = 1),
        digest TEXT NOT NULL REFERENCES policy_set (digest)
      ) STRICT;
      CREATE TABLE policy_check (
        key TEXT PRIMARY KEY,
        digest TEXT NOT NULL REFERENCES policy_set (digest)
      ) STRICT;
    `,
  },
  {
    id: 'policy/002',
    sql: `
      CREATE TABLE policy_refusal (
        key TEXT PRIMARY KEY,
        told_at_ms INTEGER NOT NULL
      ) STRICT;
    `,
  },
];

type Tables = {
  policy_set: { digest: string; policies_json: string; activated_at_ms: number };
  policy_active: { slot: number; digest: string };
  policy_check: { key: string; digest: string };
  policy_refusal: { key: string; told_at_ms: number };
};

const query = queries<Tables>();

export const FIND_ACTIVE = query()((db) =>
  db
    .selectFrom('policy_active')
    .innerJoin('policy_set', 'policy_set.digest', 'policy_active.digest')
    .select(['policy_set.digest', 'policies_json']),
);

export const FIND_ANY_SET = query()((db) => db.selectFrom('policy_set').select('digest').limit(1));

export const FIND_SET = query<{ digest: string }>()((db, p) =>
  db.selectFrom('policy_set').select(['digest', 'policies_json']).where('digest', '=', p('digest')),
);

export const FIND_CHECK = query<{ key: string }>()((db, p) =>
  db
    .selectFrom('policy_check')
    .innerJoin('policy_set', 'policy_set.digest', 'policy_check.digest')
    .select(['policy_set.digest', 'policies_json'])
    .where('key', '=', p('key')),
);

export const KEEP_SET = query<{ digest: string; policies: string; nowMs: number }>()((db, p) =>
  db
    .insertInto('policy_set')
    .values({ digest: p('digest'), policies_json: p('policies'), activated_at_ms: p('nowMs') })
    .onConflict((conflict) => conflict.column('digest').doUpdateSet({ activated_at_ms: p('nowMs') })),
);

export const KEEP_ACTIVE = query<{ digest: string }>()((db, p) =>
  db
    .insertInto('policy_active')
    .values({ slot: 1, digest: p('digest') })
    .onConflict((conflict) => conflict.column('slot').doUpdateSet({ digest: p('digest') })),
);

export const KEEP_CHECK = query<{ key: string; digest: string }>()((db, p) =>
  db
    .insertInto('policy_check')
    .values({ key: p('key'), digest: p('digest') })
    .onConflict((conflict) => conflict.column('key').doNothing()),
);

export const FIND_REFUSAL = query<{ key: string }>()((db, p) =>
  db.selectFrom('policy_refusal').select('key').where('key', '=', p('key')),
);

export const KEEP_REFUSAL = query<{ key: string; nowMs: number }>()((db, p) =>
  db
    .insertInto('policy_refusal')
    .values({ key: p('key'), told_at_ms: p('nowMs') })
    .onConflict((conflict) => conflict.column('key').doNothing()),
);
