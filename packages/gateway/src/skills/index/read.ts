import { CodedError } from '../../core/coded-error.ts';
import type { Digest } from '../../core/digest.ts';
import type { Reader } from '../../store/transaction.ts';
import type { SkillState } from '../lifecycle.table.ts';
import type { SkillRef } from '../lifecycle.ts';
import { compareVersions, parseVersion } from '../semver.ts';
import { type InstalledSkill, type SkillSummary, skillOf, summaryOf } from './skill.ts';
import {
  selectActive,
  selectArtifacts,
  selectDue,
  selectEpoch,
  selectHighest,
  selectOfKey,
  selectOwners,
  selectPage,
  selectPageIn,
  selectRevoked,
  selectTools,
  selectVersion,
  selectVersions,
} from './statements.ts';

/*
 * The index of installed skills, for every door. Rows are written by `write.ts` alone, inside transactions of the
 * caller. Reading the index grants nothing else. Anyone with write access to the database file could write anything, so
 * a version is read back whole and checked before it may run, and a list decides nothing.
 */

/** The most rows of one page. */
const MOST_ROWS = 1000;
/** The id and the order of installing of the last row; ids have no colon. */
const CURSOR = /^([a-z0-9.-]{1,64}):([0-9]{1,15})$/;

/** A number that differs after every change of the tables of skills, whichever process made it. */
export function epochOf(reader: Reader): number {
  const row = reader.get(selectEpoch, {});
  if (row === undefined) throw new CodedError('store/corrupt', 'Cannot read the skills: their epoch is gone');
  return row.epoch;
}

/** That version of a skill, whole; null where it is not installed. Throws `store/corrupt` for a tampered row. */
export function skillAt(reader: Reader, id: string, version: string): InstalledSkill | null {
  const row = reader.get(selectVersion, { id, version });
  return row === undefined ? null : skillOf(row);
}

/** All installed versions of a skill, the newest version first, as SemVer orders them. */
export function versionsOf(reader: Reader, id: string): readonly SkillSummary[] {
  return newestFirst(reader.all(selectVersions, { id })).map(summaryOf);
}

/** The version of a skill that runs; null: none does. */
export function activeOf(reader: Reader, id: string): string | null {
  return reader.get(selectActive, { id })?.version ?? null;
}

/** The highest version that was ever installed here, also if it is removed by now. */
export function highestOf(reader: Reader, id: string): string | null {
  const version = reader.get(selectHighest, { id })?.version ?? null;
  if (version !== null) demandVersion(version);
  return version;
}

/** Whether these bytes were ever revoked here, also if they are removed by now. */
export function isRevokedArtifact(reader: Reader, artifact: Digest): boolean {
  return reader.get(selectRevoked, { artifact }) !== undefined;
}

export type ToolOwner = Pick<InstalledSkill, 'id' | 'version' | 'state' | 'reason'>;

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

/** Versions that can run, or be switched on, and want another audit; what was audited longest ago comes first. */
export function dueForAudit(reader: Reader, { beforeMs, nowMs, limit }: DueAsked): readonly SkillRef[] {
  return reader.all(selectDue, { beforeMs, nowMs: nowMs ?? Number.MIN_SAFE_INTEGER, limit });
}

/** What a key has signed, in the order of installing. */
export function skillsOfKey(reader: Reader, keyId: string): readonly SkillRef[] {
  return reader.all(selectOfKey, { keyId });
}

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

/** A page of installed versions by id, and under one id in the order of installing. A bad cursor gives nothing. */
export function pageOf(reader: Reader, { after, limit, state }: SkillPageAsked): SkillPage {
  const place = placeOf(after);
  if (place === null) return { skills: [], next: null };
  const most = bounded(limit);
  const asked = { ...place, limit: most + 1 };
  const rows = state === null ? reader.all(selectPage, asked) : reader.all(selectPageIn, { ...asked, state });
  const shown = rows.slice(0, most);
  const last = rows.length > most ? shown.at(-1) : undefined;
  return { skills: shown.map(summaryOf), next: last === undefined ? null : `${last.id}:${last.seq}` };
}

/** A page of the tools of active versions by their ids; `after` is the last one already seen. */
export function pageOfTools(
  reader: Reader,
  { after, limit }: Pick<SkillPageAsked, 'after' | 'limit'>,
): readonly (SkillRef & { readonly toolId: string })[] {
  return reader.all(selectTools, { after: after ?? '', limit: bounded(limit) });
}

function placeOf(cursor: string | null): { readonly id: string; readonly seq: number } | null {
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
