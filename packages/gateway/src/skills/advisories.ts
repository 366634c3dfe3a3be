import { readFileSync, statSync } from 'node:fs';
import { CodedError } from '../core/coded-error.ts';
import type { Json } from '../core/json.ts';
import { parseStrict } from '../core/strict-json.ts';
import { ADVISORY_LIMITS } from './limits.ts';
import { listOf, memberOf, textOf } from './package/skill-package.ts';

/*
 * Advisories in the format of OSV, from a file that the operator keeps: nothing is fetched. Only what decides whether a
 * component is affected is read; of texts for people, only the id and the severity.
 */

/** A known vulnerability of some packages. */
export type Advisory = {
  readonly id: string;
  /** The same vulnerability elsewhere, such as a CVE. */
  readonly aliases: readonly string[];
  readonly isWithdrawn: boolean;
  /** As it is written there, such as a vector of CVSS or a word; null: it has none. */
  readonly severity: string | null;
  readonly affected: readonly AffectedPackage[];
};

export type AffectedPackage = {
  readonly ecosystem: string;
  readonly name: string;
  readonly purl: string | null;
  /** Versions that are affected by exact spelling. */
  readonly versions: readonly string[];
  readonly ranges: readonly AffectedRange[];
  /** It names neither versions nor ranges, so that it means every version. */
  readonly isEveryVersion: boolean;
};

/** Events along the versions of a package, in no order. */
export type AffectedRange = { readonly events: readonly RangeEvent[] };
export type RangeEvent = { readonly kind: EventKind; readonly version: string };

const EVENT_KINDS = ['introduced', 'fixed', 'last_affected', 'limit'] as const;
type EventKind = (typeof EVENT_KINDS)[number];

const EXPECTED = 'advisories in the format of OSV: one, a list, {"vulns": [...]}, or one in each line';

/** Reads one advisory, a list of them, `{"vulns": [...]}`, or one in each line. */
export function parseAdvisories(bytes: Uint8Array): readonly Advisory[] {
  const whole = parseStrict(bytes, ADVISORY_LIMITS);
  if (whole.ok) return recordsOf(whole.value).map((value, at) => readAdvisory(value, `advisory ${at + 1}`));
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString().split('\n');
  const first = parseStrict(lines.find((line) => line.trim() !== '') ?? '', ADVISORY_LIMITS);
  // If even the first line is not valid by itself, the position in the whole file says more.
  if (!first.ok) throw unreadable(whole.message);
  return lines.flatMap((line, at) => {
    if (line.trim() === '') return [];
    const parsed = parseStrict(line, ADVISORY_LIMITS);
    if (!parsed.ok) throw unreadable(`line ${at + 1}: ${parsed.message}`);
    return [readAdvisory(parsed.value, `line ${at + 1}`)];
  });
}

function recordsOf(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value as readonly Json[];
  const vulns = memberOf(value, 'vulns');
  return Array.isArray(vulns) ? (vulns as readonly Json[]) : [value];
}

function readAdvisory(value: Json, where: string): Advisory {
  const id = textOf(value, 'id');
  if (id === null || id === '') throw unreadable(`${where} has no id`);
  const affected = memberOf(value, 'affected');
  if (affected !== null && !Array.isArray(affected)) throw unreadable(`"affected" of ${id} is no list`);
  return {
    id,
    aliases: listOf(value, 'aliases').filter((alias) => typeof alias === 'string'),
    isWithdrawn: textOf(value, 'withdrawn') !== null,
    severity: severityOf(value),
    affected: listOf(value, 'affected').flatMap((each) => readAffected(each, id) ?? []),
  };
}

function readAffected(value: Json, id: string): AffectedPackage | null {
  const named = memberOf(value, 'package');
  // An entry about a repository has no package; nothing here could be compared with it.
  if (named === null) return null;
  const [ecosystem, name] = [textOf(named, 'ecosystem'), textOf(named, 'name')];
  if (ecosystem === null || name === null) throw unreadable(`a package of ${id} has no ecosystem or no name`);
  const [versions, ranges] = [listOf(value, 'versions'), listOf(value, 'ranges')];
  return {
    ecosystem,
    name,
    purl: textOf(named, 'purl'),
    versions: versions.filter((version) => typeof version === 'string'),
    // Commits of a repository cannot be compared with versions.
    ranges: ranges
      .filter((range) => textOf(range, 'type') !== 'GIT')
      .map((range) => ({ events: eventsOf(range, id) })),
    isEveryVersion: versions.length === 0 && ranges.length === 0,
  };
}

function eventsOf(range: Json, id: string): readonly RangeEvent[] {
  return listOf(range, 'events').map((event) => {
    const kind = EVENT_KINDS.find((each) => textOf(event, each) !== null);
    if (kind === undefined) throw unreadable(`an event of ${id} is none of ${EVENT_KINDS.join(', ')}`);
    return { kind, version: textOf(event, kind) ?? '' };
  });
}

function severityOf(value: Json): string | null {
  const scored = listOf(value, 'severity').map((each) => textOf(each, 'score'));
  return scored.find((score) => score !== null) ?? textOf(memberOf(value, 'database_specific'), 'severity');
}

function unreadable(why: string): CodedError {
  return new CodedError('config/invalid', `Cannot read the advisories: ${why}, expected ${EXPECTED}`, {
    remedy: 'Correct the file that skills.advisories names, or take the setting out.',
  });
}

/** Reads the operator's advisories, again whenever the file has changed; no file means no advisories. */
export function advisoryFile(path: string | null): () => readonly Advisory[] {
  if (path === null) return () => [];
  let known: { readonly stamp: string; readonly advisories: readonly Advisory[] } | null = null;
  return () => {
    const stamp = stampOf(path);
    if (known?.stamp !== stamp) known = { stamp, advisories: parseAdvisories(readFileSync(path)) };
    return known.advisories;
  };
}

/** Boundary: a file that the operator named and that is missing is an error, never an empty list. */
function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    if (size <= ADVISORY_LIMITS.maxBytes) return `${ino}:${mtimeMs}:${size}`;
    throw missing(path, `it has ${size} bytes, expected at most ${ADVISORY_LIMITS.maxBytes}`);
  } catch (error) {
    if (error instanceof CodedError) throw error;
    throw missing(
      path,
      `it fails with ${(error as { code?: string }).code}, expected a file that can be read`,
    );
  }
}

function missing(path: string, why: string): CodedError {
  return new CodedError('config/invalid', `Cannot read the advisories "${path}": ${why}`, {
    remedy: 'Correct `skills.advisories` in palisade.toml, or create the file.',
  });
}
