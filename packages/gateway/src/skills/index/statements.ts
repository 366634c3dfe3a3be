import { sql } from 'kysely';
import type { Digest } from '../../core/digest.ts';
import type { SkillState } from '../lifecycle.table.ts';
import { query, type RevokedRow, type SummaryRow, type VersionRow, whileApproved } from '../tables.ts';

/* The statements of the index. */

/** What a summary is made of. Each column of each row costs a microsecond; the long ones are not here. */
const SUMMARY_COLUMNS = [
  ...([
    'seq',
    'id',
    'version',
    'publisher',
    'name',
    'artifact',
    'key_id',
    'trust',
    'state',
    'tools',
  ] as const),
  ...(['verdict', 'reason', 'installed_at_ms', 'installed_by', 'changed_at_ms', 'changed_by'] as const),
  ...(['approved_by', 'audited_at_ms'] as const),
] as const satisfies readonly (keyof SummaryRow)[];

/** A constant of the statement, so that the partial indexes are used. */
const isActive = sql<boolean>`state = 'active'`;

export const selectEpoch = query()((db) =>
  db.selectFrom('skill_epoch').select('epoch').where('id', '=', sql.lit(1)),
);

export const selectVersion = query<{ id: string; version: string }>()((db, p) =>
  db.selectFrom('skill_version').selectAll().where('id', '=', p('id')).where('version', '=', p('version')),
);

export const selectVersions = query<{ id: string }>()((db, p) =>
  db.selectFrom('skill_version').select(SUMMARY_COLUMNS).where('id', '=', p('id')).orderBy('seq', 'desc'),
);

export const selectActive = query<{ id: string }>()((db, p) =>
  db.selectFrom('skill_version').select('version').where('id', '=', p('id')).where(isActive),
);

export const selectHighest = query<{ id: string }>()((db, p) =>
  db.selectFrom('skill_highest').select('version').where('id', '=', p('id')),
);

export const selectRevoked = query<{ artifact: Digest }>()((db, p) =>
  db.selectFrom('skill_revoked').select('id').where('artifact', '=', p('artifact')),
);

export const selectOwners = query<{ toolId: string }>()((db, p) =>
  db
    .selectFrom('skill_tool')
    .innerJoin('skill_version', 'skill_version.seq', 'skill_tool.seq')
    .select(['id', 'version', 'state', 'reason'])
    .where('tool_id', '=', p('toolId'))
    .orderBy('skill_tool.seq', 'desc'),
);

export const selectOfKey = query<{ keyId: string }>()((db, p) =>
  db.selectFrom('skill_version').select(['id', 'version']).where('key_id', '=', p('keyId')).orderBy('seq'),
);

export const selectArtifacts = query()((db) => db.selectFrom('skill_version').select('artifact'));

type Due = { beforeMs: number; nowMs: number; limit: number };

const audited = sql.raw(whileApproved('audited_at_ms'));
const auditBy = sql.raw(whileApproved('audit_by_ms'));

export const selectDue = query<Due>()((db, p) =>
  db
    .selectFrom('skill_version')
    .select(['id', 'version'])
    .where(sql<boolean>`(${audited} < ${p('beforeMs')} or ${auditBy} <= ${p('nowMs')})`)
    .orderBy('audited_at_ms')
    .limit(p('limit')),
);

type Place = { id: string; seq: number; limit: number };

export const selectPage = query<Place>()((db, p) =>
  db
    .selectFrom('skill_version')
    .select(SUMMARY_COLUMNS)
    .where(sql<boolean>`(id, seq) > (${p('id')}, ${p('seq')})`)
    .orderBy('id')
    .orderBy('seq')
    .limit(p('limit')),
);

export const selectPageIn = query<Place & { state: SkillState }>()((db, p) =>
  db
    .selectFrom('skill_version')
    .select(SUMMARY_COLUMNS)
    .where('state', '=', p('state'))
    .where(sql<boolean>`(id, seq) > (${p('id')}, ${p('seq')})`)
    .orderBy('id')
    .orderBy('seq')
    .limit(p('limit')),
);

// A cross join is walked as it is written: along the tools, instead of sorting the tools of all active versions.
export const selectTools = query<{ after: string; limit: number }>()((db, p) =>
  db
    .selectFrom('skill_tool')
    .crossJoin('skill_version')
    .select(['tool_id as toolId', 'id', 'version'])
    .whereRef('skill_version.seq', '=', 'skill_tool.seq')
    .where(sql<boolean>`state = 'active'`)
    .where('tool_id', '>', p('after'))
    .orderBy('tool_id')
    .limit(p('limit')),
);

export const insertVersion = query<Omit<VersionRow, 'seq'>>()((db, p) =>
  db
    .insertInto('skill_version')
    .values({
      seq: null as never,
      id: p('id'),
      version: p('version'),
      publisher: p('publisher'),
      name: p('name'),
      artifact: p('artifact'),
      key_id: p('key_id'),
      trust: p('trust'),
      state: p('state'),
      tools: p('tools'),
      verdict: p('verdict'),
      reason: p('reason'),
      installed_at_ms: p('installed_at_ms'),
      installed_by: p('installed_by'),
      changed_at_ms: p('changed_at_ms'),
      changed_by: p('changed_by'),
      approved_by: p('approved_by'),
      audited_at_ms: p('audited_at_ms'),
      audit_by_ms: p('audit_by_ms'),
      digest: p('digest'),
      manifest: p('manifest'),
      granted: p('granted'),
      report: p('report'),
    })
    .returning('seq'),
);

export const insertTool = query<{ toolId: string; seq: number }>()((db, p) =>
  db.insertInto('skill_tool').values({ tool_id: p('toolId'), seq: p('seq') }),
);

export const upsertHighest = query<{ id: string; version: string }>()((db, p) =>
  db
    .insertInto('skill_highest')
    .values({ id: p('id'), version: p('version') })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ version: p('version') })),
);

/** What a change rewrites. */
export type ChangedColumns = Pick<
  VersionRow,
  | 'state'
  | 'reason'
  | 'changed_at_ms'
  | 'changed_by'
  | 'granted'
  | 'report'
  | 'verdict'
  | 'approved_by'
  | 'audited_at_ms'
  | 'audit_by_ms'
  | 'digest'
>;

export const updateVersion = query<ChangedColumns & { seq: number; from: SkillState }>()((db, p) =>
  db
    .updateTable('skill_version')
    .set({
      state: p('state'),
      reason: p('reason'),
      changed_at_ms: p('changed_at_ms'),
      changed_by: p('changed_by'),
      granted: p('granted'),
      report: p('report'),
      verdict: p('verdict'),
      approved_by: p('approved_by'),
      audited_at_ms: p('audited_at_ms'),
      audit_by_ms: p('audit_by_ms'),
      digest: p('digest'),
    })
    .where('seq', '=', p('seq'))
    .where('state', '=', p('from')),
);

export const insertRevoked = query<RevokedRow>()((db, p) =>
  db
    .insertInto('skill_revoked')
    .values({
      artifact: p('artifact'),
      id: p('id'),
      version: p('version'),
      at_ms: p('at_ms'),
      by: p('by'),
      reason: p('reason'),
    })
    .onConflict((conflict) => conflict.doNothing()),
);

export const deleteVersion = query<{ seq: number }>()((db, p) =>
  db.deleteFrom('skill_version').where('seq', '=', p('seq')),
);
