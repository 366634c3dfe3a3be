import { readFileSync, statSync } from 'node:fs';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import { anyText, list, looseObject, orNull, type Shaped } from '../core/json-shape.ts';
import {
  check,
  isTable,
  note,
  optional,
  required,
  type Shape,
  type TableField,
  textLike,
} from '../core/shape.ts';
import { describeValue } from '../core/shape-problem.ts';
import { parseStrict } from '../core/strict-json.ts';
import { ADVISORY_LIMITS } from './limits.ts';

/*
 * Advisories in the format of OSV, from a file that the operator keeps: nothing is fetched. Only what decides whether a
 * component is affected is read; of texts for people, only the id and the severity.
 */

/** A known vulnerability of some packages; `aliases` name it elsewhere, such as a CVE. */
export type Advisory = Pick<Shaped<typeof ADVISORY>, 'id' | 'aliases'> & {
  readonly isWithdrawn: boolean;
  /** As it is written there, such as a vector of CVSS or a word; null: it has none. */
  readonly severity: string | null;
  readonly affected: readonly AffectedPackage[];
};

export type AffectedPackage = Shaped<typeof PACKAGE> & {
  /** Versions that are affected by exact spelling. */
  readonly versions: readonly string[];
  /** Events along the versions of a package, in no order. */
  readonly ranges: readonly { readonly events: readonly RangeEvent[] }[];
  /** It names neither versions nor ranges, so that it means every version. */
  readonly isEveryVersion: boolean;
};

export type RangeEvent = { readonly kind: EventKind; readonly version: string };

const EVENT_KINDS = ['introduced', 'fixed', 'last_affected', 'limit'] as const;
type EventKind = (typeof EVENT_KINDS)[number];

/** Some sources write null for an empty list. */
function listOf<T>(each: Shape<T>): TableField<readonly T[]> {
  const shape = orNull(list(each));
  return { shape: (raw, site) => shape(raw, site) ?? [], example: null, fill: () => [] };
}

/** A key whose value is only shown, and differs from source to source. */
const shown = optional<string | null>((raw) => (typeof raw === 'string' ? raw : null));

const event: Shape<RangeEvent> = (raw, site) => {
  for (const kind of EVENT_KINDS) {
    const version = isTable(raw) ? raw[kind] : null;
    if (typeof version === 'string') return { kind, version };
  }
  return note(site, { is: describeValue(raw), expected: `an event: one of ${EVENT_KINDS.join(', ')}` });
};
const PACKAGE = looseObject({
  ecosystem: required(anyText),
  name: required(anyText),
  purl: optional(anyText),
});
const ADVISORY = looseObject({
  id: required(textLike('a text that is not empty', (text) => text !== '')),
  aliases: listOf(anyText),
  withdrawn: shown,
  severity: listOf(looseObject({ score: shown })),
  database_specific: optional(looseObject({ severity: shown })),
  affected: listOf(
    looseObject({
      package: optional(PACKAGE),
      versions: listOf(anyText),
      ranges: listOf(looseObject({ type: shown, events: listOf(event) })),
    }),
  ),
});

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

const NOTHING = { subject: 'the file', is: 'it is nothing', expected: 'an advisory' };

function recordsOf(value: Json): readonly Json[] {
  const records = isJsonObject(value) && Array.isArray(value.vulns) ? value.vulns : value;
  return Array.isArray(records) ? (records as readonly Json[]) : [value];
}

function readAdvisory(value: Json, where: string): Advisory {
  const read = check(value, ADVISORY);
  if (!read.ok) {
    const [{ subject, is, expected } = NOTHING] = read.problem;
    const part = subject === 'the file' ? '' : `${subject} of `;
    const named = isJsonObject(value) && typeof value.id === 'string' ? ` (${quote(value.id)})` : '';
    throw unreadable(`${part}${where}${named}: ${is}, expected ${expected}`);
  }
  const { id, aliases, withdrawn, severity, database_specific: own, affected } = read.value;
  return {
    id,
    aliases,
    isWithdrawn: withdrawn !== null,
    severity: severity.find(({ score }) => score !== null)?.score ?? own?.severity ?? null,
    affected: affected.flatMap(({ package: named, versions, ranges }) => {
      // An entry about a repository has no package; nothing here could be compared with it.
      if (named === null) return [];
      // Commits of a repository cannot be compared with versions.
      const comparable = ranges.filter(({ type }) => type !== 'GIT');
      return [
        { ...named, versions, ranges: comparable, isEveryVersion: versions.length + ranges.length === 0 },
      ];
    }),
  };
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
    const { code } = error as { code?: string };
    throw missing(path, `it fails with ${code}, expected a file that can be read`);
  }
}

function missing(path: string, why: string): CodedError {
  const remedy = 'Correct `skills.advisories` in palisade.toml, or create the file.';
  return new CodedError('config/invalid', `Cannot read the advisories "${path}": ${why}`, { remedy });
}
