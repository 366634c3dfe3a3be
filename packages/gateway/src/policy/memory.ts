import { sql } from 'kysely';
import type { Digest } from '../core/digest.ts';
import { orElse } from '../core/result.ts';
import type { Migration } from '../store/migrate.ts';
import { insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';
import type { LastingAnswers, PolicyAnswer } from './decider.ts';
import { KEPT_ANSWERS } from './limits.ts';
import { scan } from './parse.ts';
import { type Policy, type PolicyProblem, type PolicySet, policySetDigest } from './policy-set.ts';
import { STARTER_POLICIES } from './starter.table.ts';
import { STARTER_CHECK } from './starter-checks.generated.ts';

export type PolicyStore = Pick<Reader, 'get'> & {
  commit<T>(work: (tx: Transaction) => T): Promise<T>;
};

type Row = { readonly digest: string; readonly policies_json: string };

/** The set that was active last, in this process or another; null when there is no intact one. */
export function recallActive(store: PolicyStore): PolicySet | null {
  return toSet(store.get(FIND_ACTIVE, {}));
}

/** Whether any set was ever active in this state directory, including one whose row is no longer intact. */
export function hadAnySet(store: PolicyStore): boolean {
  return store.get(FIND_ANY_SET, {}) !== undefined;
}

export function recallChecked(store: PolicyStore, key: string): PolicySet | null {
  return toSet(store.get(FIND_CHECK, { key }));
}

export type CheckedSets = Map<
  string,
  { readonly set: PolicySet; readonly warnings: readonly PolicyProblem[] }
>;

/** The check of the starter policies, which was made when this version was. */
export function shippedChecks(): CheckedSets {
  const policies = Object.entries(STARTER_POLICIES).flatMap(([file, starters]) =>
    scan(starters).pieces.map(({ text }) => starterOf(file, text)),
  );
  return new Map([[STARTER_CHECK, { set: { digest: policySetDigest(policies), policies }, warnings: [] }]]);
}

/** Each of them begins with its id and its effect. */
function starterOf(file: string, text: string): Policy {
  const [, id = '', effect] = /^@id\("([^"]+)"\)\n(permit|forbid)/.exec(text) ?? [];
  return { id, file, effect: effect as Policy['effect'], text };
}

/** Remembers that a set passed its check and is active now; sets are kept forever, for the receipts that name them. */
export function remember(store: PolicyStore, set: PolicySet, key: string, nowMs: number): Promise<void> {
  const { digest, policies } = set;
  return store.commit((tx) => {
    tx.run(KEEP_SET, { digest, policies: JSON.stringify(policies), nowMs });
    tx.run(KEEP_ACTIVE, { slot: 1, digest });
    tx.run(KEEP_CHECK, { key, digest });
  });
}

/** Whether this refusal was reported, by this process or another. */
export function wasRefusalTold(store: PolicyStore, key: string): boolean {
  return store.get(FIND_REFUSAL, { key }) !== undefined;
}

export function rememberRefusal(store: PolicyStore, key: string, nowMs: number): Promise<number> {
  return store.commit((tx) => tx.run(KEEP_REFUSAL, { key, told_at_ms: nowMs }));
}

/** Answers of the evaluator that the next process does not have to ask for again; the newest are kept. */
export function lastingAnswers(store: PolicyStore): LastingAnswers {
  return {
    find: (key) => {
      const row = store.get(FIND_ANSWER, { key });
      return row === undefined ? null : orElse(() => toAnswer(JSON.parse(row.answer_json)), null);
    },
    keep: (key, { verdict, decidedBy }) => {
      const kept = store.commit((tx) => {
        tx.run(KEEP_ANSWER, { key, answer_json: JSON.stringify({ verdict, decidedBy }) });
        tx.run(FORGET_ANSWERS, { most: KEPT_ANSWERS.lasting });
      });
      // What cannot be kept is asked again.
      kept.catch(() => undefined);
    },
  };
}

/** Boundary: anything that is not an answer without an error is asked again. */
function toAnswer(value: unknown): PolicyAnswer | null {
  if (typeof value !== 'object' || value === null) return null;
  const { verdict, decidedBy } = value as Partial<Record<string, unknown>>;
  if (verdict !== 'allow' && verdict !== 'deny') return null;
  if (!Array.isArray(decidedBy) || !decidedBy.every((id) => typeof id === 'string')) return null;
  return { verdict, decidedBy, errors: [], crashed: false };
}

function toSet(row: Row | undefined): PolicySet | null {
  if (row === undefined) return null;
  const policies = JSON.parse(row.policies_json) as Policy[];
  const digest = policySetDigest(policies);
  // Boundary: a row whose texts are not those of its digest was not written by us, or under another schema.
  return digest === row.digest ? { digest, policies } : null;
}

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
  {
    id: 'policy/003',
    sql: `
      CREATE TABLE policy_answer (
        at INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        answer_json TEXT NOT NULL
      ) STRICT;
    `,
  },
];

type Tables = {
  policy_set: { digest: string; policies_json: string; activated_at_ms: number };
  policy_active: { slot: number; digest: string };
  policy_check: { key: string; digest: string };
  policy_refusal: { key: string; told_at_ms: number };
  policy_answer: { key: string; answer_json: string };
};

const query = queries<Tables>();

const FIND_ACTIVE = query()((db) =>
  db
    .selectFrom('policy_active')
    .innerJoin('policy_set', 'policy_set.digest', 'policy_active.digest')
    .select(['policy_set.digest', 'policies_json']),
);

const FIND_ANY_SET = query()((db) => db.selectFrom('policy_set').select('digest').limit(1));

const FIND_CHECK = query<{ key: string }>()((db, p) =>
  db
    .selectFrom('policy_check')
    .innerJoin('policy_set', 'policy_set.digest', 'policy_check.digest')
    .select(['policy_set.digest', 'policies_json'])
    .where('key', '=', p('key')),
);

const KEEP_SET = query<{ digest: string; policies: string; nowMs: number }>()((db, p) =>
  db
    .insertInto('policy_set')
    .values({ digest: p('digest'), policies_json: p('policies'), activated_at_ms: p('nowMs') })
    .onConflict((conflict) => conflict.column('digest').doUpdateSet({ activated_at_ms: p('nowMs') })),
);

const KEEP_ACTIVE = insertInto<Tables['policy_active']>('policy_active', 'replace');
const KEEP_CHECK = insertInto<Tables['policy_check']>('policy_check', 'keep');
const KEEP_REFUSAL = insertInto<Tables['policy_refusal']>('policy_refusal', 'keep');

const FIND_REFUSAL = query<{ key: string }>()((db, p) =>
  db.selectFrom('policy_refusal').select('key').where('key', '=', p('key')),
);

const FIND_ANSWER = query<{ key: Digest }>()((db, p) =>
  db.selectFrom('policy_answer').select('answer_json').where('key', '=', p('key')),
);

const KEEP_ANSWER = insertInto<Tables['policy_answer']>('policy_answer', 'keep');

const FORGET_ANSWERS = query<{ most: number }>()((db, p) =>
  db
    .deleteFrom('policy_answer')
    .where(sql<boolean>`at <= (SELECT max(at) FROM policy_answer) - ${p('most')}`),
);
