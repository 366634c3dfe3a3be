import { sql } from 'kysely';
import type { Digest } from '../../core/digest.ts';
import type { SkillState } from '../lifecycle.table.ts';
import { placeholders, query, type RevokedRow, type VersionRow, whileApproved } from '../tables.ts';

/* The statements of the index. */

/** What a summary is made of. Each column of each row costs a microsecond; the long ones are not here. */
const SUMMARY_COLUMNS = [
  ...(['id', 'version', 'publisher', 'name', 'artifact', 'key_id', 'trust', 'state', 'tools'] as const),
  ...(['verdict', 'reason', 'installed_at_ms', 'installed_by', 'changed_at_ms', 'changed_by'] as const),
  ...(['approved_by', 'audited_at_ms'] as const),
] as const;
const LONG_COLUMNS = ['audit_by_ms', 'digest', 'manifest', 'granted', 'report'] as const;
/** What a change rewrites. */
const CHANGED_COLUMNS = [
  ...(['state', 'reason', 'changed_at_ms', 'changed_by', 'granted', 'report', 'verdict'] as const),
  ...(['approved_by', 'audited_at_ms', 'audit_by_ms', 'digest'] as const),
] as const;

/** A constant of the statement, so that the partial indexes are used. */
const isActive = sql<boolean>`state = 'active'`;

export const selectEpoch = query()((db) =>
  db.selectFrom('skill_epoch').select('epoch').where('id', '=', sql.lit(1)),
);

export const selectVersion = query<{ id: string; version: string }>()((db, p) =>
  db.selectFrom('skill_version').selectAll().where('id', '=', p('id')).where('version', '=', p('version')),
);

export const selectVersions = query<{ id: string }>()((db, p) =>
  db
    .selectFrom('skill_version')
    .select(['seq', ...SUMMARY_COLUMNS])
    .where('id', '=', p('id'))
    .orderBy('seq', 'desc'),
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
    .select(['seq', ...SUMMARY_COLUMNS])
    .where(sql<boolean>`(id, seq) > (${p('id')}, ${p('seq')})`)
    .orderBy('id')
    .orderBy('seq')
    .limit(p('limit')),
);

export const selectPageIn = query<Place & { state: SkillState }>()((db, p) =>
  db
    .selectFrom('skill_version')
    .select(['seq', ...SUMMARY_COLUMNS])
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
    .where(isActive)
    .where('tool_id', '>', p('after'))
    .orderBy('tool_id')
    .limit(p('limit')),
);

export const insertVersion = query<Omit<VersionRow, 'seq'>>()((db, p) =>
  db
    .insertInto('skill_version')
    .values({ seq: null as never, ...placeholders(p, [...SUMMARY_COLUMNS, ...LONG_COLUMNS]) })
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

export type ChangedColumns = Pick<VersionRow, (typeof CHANGED_COLUMNS)[number]>;

export const updateVersion = query<ChangedColumns & { seq: number; from: SkillState }>()((db, p) =>
  db
    .updateTable('skill_version')
    .set(placeholders(p, CHANGED_COLUMNS))
    .where('seq', '=', p('seq'))
    .where('state', '=', p('from')),
);

export const insertRevoked = query<RevokedRow>()((db, p) =>
  db
    .insertInto('skill_revoked')
    .values(placeholders(p, ['artifact', 'id', 'version', 'at_ms', 'by', 'reason']))
    .onConflict((conflict) => conflict.doNothing()),
);

export const deleteVersion = query<{ seq: number }>()((db, p) =>
  db.deleteFrom('skill_version').where('seq', '=', p('seq')),
);
