import { sql } from 'kysely';
import { CodedError } from '../../core/coded-error.ts';
import type { Digest } from '../../core/digest.ts';
import type { Reader } from '../../store/transaction.ts';
import type { SkillState } from '../lifecycle.table.ts';
import type { SkillRef } from '../lifecycle.ts';
import { compareVersions, parseVersion } from '../semver.ts';
import { query, type SummaryRow, whileApproved } from '../tables.ts';
import { type InstalledSkill, type SkillSummary, skillOf, summaryOf } from './skill.ts';

/*
 * The index of installed skills, for every door. Rows are written by `write.ts` alone, inside transactions of the
 * caller. Reading the index grants nothing else. Anyone with write access to the database file could write anything, so
 * a version is read back whole and checked before it may run, and a list decides nothing.
 */

/** The most rows of one page. */
const MOST_ROWS = 1000;
/** The id and the order of installing of the last row; ids have no colon. */
const CURSOR = /^([a-z0-9.-]{1,64}):([0-9]{1,15})$/;

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

const selectEpoch = query()((db) =>
  db.selectFrom('skill_epoch').select('epoch').where('id', '=', sql.lit(1)),
);

/** A number that differs after every change of the tables of skills, whichever process made it. */
export function epochOf(reader: Reader): number {
  const row = reader.get(selectEpoch, {});
  if (row === undefined) throw new CodedError('store/corrupt', 'Cannot read the skills: their epoch is gone');
  return row.epoch;
}

export const selectVersion = query<SkillRef>()((db, p) =>
  db.selectFrom('skill_version').selectAll().where('id', '=', p('id')).where('version', '=', p('version')),
);

/** That version of a skill, whole; null where it is not installed. Throws `store/corrupt` for a tampered row. */
export function skillAt(reader: Reader, id: string, version: string): InstalledSkill | null {
  const row = reader.get(selectVersion, { id, version });
  return row === undefined ? null : skillOf(row);
}

const selectVersions = query<{ id: string }>()((db, p) =>
  db.selectFrom('skill_version').select(SUMMARY_COLUMNS).where('id', '=', p('id')).orderBy('seq', 'desc'),
);

/** All installed versions of a skill, the newest version first, as SemVer orders them. */
export function versionsOf(reader: Reader, id: string): readonly SkillSummary[] {
  return newestFirst(reader.all(selectVersions, { id })).map(summaryOf);
}

const selectActive = query<{ id: string }>()((db, p) =>
  db.selectFrom('skill_version').select('version').where('id', '=', p('id')).where(isActive),
);

/** The version of a skill that runs; null: none does. */
export function activeOf(reader: Reader, id: string): string | null {
  return reader.get(selectActive, { id })?.version ?? null;
}

const selectHighest = query<{ id: string }>()((db, p) =>
  db.selectFrom('skill_highest').select('version').where('id', '=', p('id')),
);

/** The highest version that was ever installed here, also if it is removed by now. */
export function highestOf(reader: Reader, id: string): string | null {
  const version = reader.get(selectHighest, { id })?.version ?? null;
  if (version !== null) demandVersion(version);
  return version;
}

const selectRevoked = query<{ artifact: Digest }>()((db, p) =>
  db.selectFrom('skill_revoked').select('id').where('artifact', '=', p('artifact')),
);

/** Whether these bytes were ever revoked here, also if they are removed by now. */
export function isRevokedArtifact(reader: Reader, artifact: Digest): boolean {
  return reader.get(selectRevoked, { artifact }) !== undefined;
}

export type ToolOwner = Pick<InstalledSkill, 'id' | 'version' | 'state' | 'reason'>;

const selectOwners = query<{ toolId: string }>()((db, p) =>
  db
    .selectFrom('skill_tool')
    .innerJoin('skill_version', 'skill_version.seq', 'skill_tool.seq')
    .select(['id', 'version', 'state', 'reason'])
    .where('tool_id', '=', p('toolId'))
    .orderBy('skill_tool.seq', 'desc'),
);

/** Every installed version that has a tool of that id: the active one first, then from the newest on. */
export function ownerOfTool(reader: Reader, toolId: string): readonly ToolOwner[] {
  const owners = newestFirst(reader.all(selectOwners, { toolId }));
  return owners.sort((a, b) => Number(b.state === 'active') - Number(a.state === 'active'));
}

type DueAsked = {
  /** Whatever was audited before is due. */
  readonly beforeMs: number;
  /** The moment at which it is asked; left out: what manifests say of it counts for nothing. */
  readonly nowMs?: number;
  readonly limit: number;
};

const selectDue = query<Required<DueAsked>>()((db, p) => {
  const [audited, auditBy] = [sql.raw(whileApproved('audited_at_ms')), sql.raw(whileApproved('audit_by_ms'))];
  return db
    .selectFrom('skill_version')
    .select(['id', 'version'])
    .where(sql<boolean>`(${audited} < ${p('beforeMs')} or ${auditBy} <= ${p('nowMs')})`)
    .orderBy('audited_at_ms')
    .limit(p('limit'));
});

/** Versions that can run, or be switched on, and want another audit; what was audited longest ago comes first. */
export function dueForAudit(reader: Reader, { beforeMs, nowMs, limit }: DueAsked): readonly SkillRef[] {
  return reader.all(selectDue, { beforeMs, nowMs: nowMs ?? Number.MIN_SAFE_INTEGER, limit });
}

const selectOfKey = query<{ keyId: string }>()((db, p) =>
  db.selectFrom('skill_version').select(['id', 'version']).where('key_id', '=', p('keyId')).orderBy('seq'),
);

/** What a key has signed, in the order of installing. */
export function skillsOfKey(reader: Reader, keyId: string): readonly SkillRef[] {
  return reader.all(selectOfKey, { keyId });
}

const selectArtifacts = query()((db) => db.selectFrom('skill_version').select('artifact'));

/** The packages that some installed version needs. */
export function artifactsInUse(reader: Reader): ReadonlySet<Digest> {
  return new Set(reader.all(selectArtifacts, {}).map(({ artifact }) => artifact));
}

type SkillPageAsked = {
  /** The `next` of the page before; null: from the beginning. */
  readonly after: string | null;
  readonly limit: number;
  readonly state: SkillState | null;
};

type SkillPage = {
  readonly skills: readonly SkillSummary[];
  /** Null: this was the last page. */
  readonly next: string | null;
};

type Place = { readonly id: string; readonly seq: number };

function pagesOf(versions: 'all' | 'of one state') {
  return query<Place & Pick<SkillPageAsked, 'limit' | 'state'>>()((db, p) => {
    const all = db.selectFrom('skill_version').select(SUMMARY_COLUMNS);
    return (versions === 'all' ? all : all.where('state', '=', p('state')))
      .where(sql<boolean>`(id, seq) > (${p('id')}, ${p('seq')})`)
      .orderBy('id')
      .orderBy('seq')
      .limit(p('limit'));
  });
}

const [selectPage, selectPageIn] = [pagesOf('all'), pagesOf('of one state')];

/** A page of installed versions by id, and under one id in the order of installing. A bad cursor gives nothing. */
export function pageOf(reader: Reader, { after, limit, state }: SkillPageAsked): SkillPage {
  const place = placeOf(after);
  if (place === null) return { skills: [], next: null };
  const most = bounded(limit);
  const rows = reader.all(state === null ? selectPage : selectPageIn, { ...place, state, limit: most + 1 });
  const shown = rows.slice(0, most);
  const last = rows.length > most ? shown.at(-1) : undefined;
  return { skills: shown.map(summaryOf), next: last === undefined ? null : `${last.id}:${last.seq}` };
}

// A cross join is walked as it is written: along the tools, instead of sorting the tools of all active versions.
const selectTools = query<{ after: string; limit: number }>()((db, p) =>
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

/** A page of the tools of active versions by their ids; `after` is the last one already seen. */
export function pageOfTools(
  reader: Reader,
  { after, limit }: Pick<SkillPageAsked, 'after' | 'limit'>,
): readonly (SkillRef & { readonly toolId: string })[] {
  return reader.all(selectTools, { after: after ?? '', limit: bounded(limit) });
}

function placeOf(cursor: string | null): Place | null {
  if (cursor === null) return { id: '', seq: 0 };
  const [, id, seq] = CURSOR.exec(cursor) ?? [];
  return id === undefined ? null : { id, seq: Number(seq) };
}

/** Boundary: whatever number of rows is requested, one page is returned. */
function bounded(limit: number): number {
  return Math.min(Math.max(1, Math.floor(limit) || 1), MOST_ROWS);
}

/** Rows of one precedence keep their order: the one that was installed last comes first. */
function newestFirst<Row extends { readonly version: string }>(rows: Row[]): Row[] {
  if (rows.length < 2) return rows;
  for (const { version } of rows) demandVersion(version);
  return rows.sort((a, b) => compareVersions(b.version, a.version));
}

function demandVersion(text: string): void {
  if (parseVersion(text) === null)
    throw new CodedError('store/corrupt', 'Cannot order versions of a skill: one is none, expected SemVer');
}
