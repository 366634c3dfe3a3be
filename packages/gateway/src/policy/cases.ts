import { canonicalize } from '@palisade/sdk';
import { parse, TomlError } from 'smol-toml';
import { positionsIn } from '../config/toml-tree.ts';
import { CodedError } from '../core/coded-error.ts';
import { isName, type Principal, parsePrincipal } from '../core/principal.ts';
import * as shape from '../core/shape.ts';
import {
  describeValue,
  formatProblem,
  locate,
  type Positions,
  type ShapeProblem,
} from '../core/shape-problem.ts';
import { SKILL_ACTS, type SkillAct, type SkillActFacts } from './entities.ts';
import { CASE_LIMITS } from './limits.ts';

/*
 * A file of policy tests: TOML with one [[case]] for each call and the answer it must get. Strict: a key that is not
 * known, a wrong type or a missing answer is an error with its line, never a test that passes by accident.
 */

type CaseAction = 'call' | 'approve' | 'readJournal' | 'administer' | SkillAct;

type CaseSkill = Pick<SkillActFacts, 'skill' | 'about'>;

const ACTIONS: readonly CaseAction[] = ['call', 'approve', 'readJournal', 'administer', ...SKILL_ACTS];

export function isSkillAct(action: CaseAction): action is SkillAct {
  return (SKILL_ACTS as readonly string[]).includes(action);
}

const TEXT = shape.textLike('a text that is not empty', (text) => text !== '');
const TEXTS = shape.texts(TEXT);
const NAME = shape.textLike('a name of letters, digits and . _ @ + -', isName);
const PRINCIPAL = shape.textLike(
  '"agent:NAME", "user:NAME" or "service:NAME"',
  (text) => parsePrincipal(text) !== null,
);
const SKILL_ID = shape.textLike('a skill such as "acme.text"', (text) =>
  /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(text),
);

/** Defaults are those of a skill that requests nothing. */
const SKILL = shape.table({
  id: shape.required(SKILL_ID, 'id = "acme.text"'),
  publisher: shape.optional(TEXT),
  version: shape.withDefault(TEXT, '1.0.0'),
  trust: shape.withDefault(TEXT, 'operator'),
  state: shape.withDefault(TEXT, 'new'),
  capabilities: shape.withDefault(TEXTS, []),
  hosts: shape.withDefault(TEXTS, []),
  has_wildcards: shape.withDefault(shape.flag, false),
  verdict: shape.withDefault(shape.choice(['passed', 'failed', 'none']), 'none'),
  findings: shape.withDefault(TEXTS, []),
  installed_by: shape.optional(PRINCIPAL),
});

const CASE_FIELDS = {
  name: shape.optional(TEXT),
  principal: shape.required(PRINCIPAL, 'principal = "agent:ada"'),
  action: shape.withDefault(shape.choice(ACTIONS), 'call'),
  asker: shape.withDefault(PRINCIPAL, 'agent:asker'),
  tool: shape.optional(TEXT),
  skill: shape.optional(SKILL),
  input: shape.optional(inputText),
  input_json: shape.optional(TEXT),
  device: shape.optional(NAME),
  channel: shape.optional(NAME),
  session: shape.optional(NAME),
  approved: shape.withDefault(shape.flag, false),
  at: shape.optional(time),
  groups: shape.optional(TEXTS),
  expected: shape.required(shape.choice(['allow', 'deny', 'ask']), 'expected = "allow"'),
  decided_by: shape.optional(TEXTS),
};
type RawCase = shape.FilledTable<typeof CASE_FIELDS>;

/** A case with the keys of the file; what is missing there and has no default is null. */
export type PolicyCase = Omit<RawCase, 'name' | 'principal' | 'skill'> & {
  readonly name: string;
  readonly line: number;
  readonly principal: Principal;
  readonly skill: CaseSkill | null;
};

const CASE = shape.table(CASE_FIELDS, { header: '[[case]]', also: demandSubject });
const FILE = shape.table({
  case: shape.withDefault(shape.tables(CASE, { max: CASE_LIMITS.cases, header: '[[case]]' }), []),
});

/** Reads a case file; throws a CodedError `door/wrong-usage` with file, line and column. */
export function parseCases(text: string, file: string): PolicyCase[] {
  const checked = shape.check(parseToml(text, file), FILE);
  const positions = positionsIn(text);
  if (!checked.ok) throw wrong(checked.problem, positions, file);
  return checked.value.case.map((raw, i) => toCase(raw, i, positions(['case', i], 'key')?.line ?? 1));
}

function parseToml(text: string, file: string): unknown {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded', maxDepth: CASE_LIMITS.levels });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ''] = error.message.split('\n');
    throw wrongUsage(`${file}:${error.line}:${error.column}: Cannot read the policy tests: ${what}`);
  }
}

/** The subject of the action is required, and nothing else is accepted. */
function demandSubject(raw: RawCase, site: shape.ValueSite): void {
  const { action, tool, skill, input, input_json: inputJson } = raw;
  const misfit = (is: string, expected: string) => shape.note(site, { is, expected });
  const isPlaced = raw.device !== null || raw.channel !== null;
  if (isPlaced && action !== 'call' && action !== 'approve')
    misfit('it has a device or a channel', `none for the action "${action}"`);
  if (raw.session !== null && action !== 'call')
    misfit('it has a session', `none for the action "${action}"`);
  if (input !== null && inputJson !== null) misfit('it has both input and input_json', 'one of them');
  if (isSkillAct(action)) {
    if (tool !== null) misfit('it has the key tool', `none for the action "${action}"`);
    if (skill === null) misfit('it has no skill', 'a key such as skill = { id = "acme.text" }');
    return;
  }
  if (skill !== null) misfit('it has the key skill', `none for the action "${action}"`);
  const isAboutTool = action === 'call' || action === 'approve';
  if (isAboutTool && tool === null) misfit('it has no tool', 'the key tool with the name of a tool');
}

function toCase(raw: RawCase, index: number, line: number): PolicyCase {
  const principal = parsePrincipal(raw.principal) as Principal;
  const skill = raw.skill === null ? null : toCaseSkill(raw.skill);
  return { ...raw, name: raw.name ?? `case ${index + 1}`, line, principal, skill };
}

function toCaseSkill(raw: NonNullable<RawCase['skill']>): CaseSkill {
  const { id, publisher, version, trust, has_wildcards, installed_by, ...about } = raw;
  return {
    skill: { id, publisher: publisher ?? id.split('.')[0] ?? '', version, trust },
    about: { ...about, hasWildcards: has_wildcards, installedBy: installed_by },
  };
}

function inputText(raw: unknown, site: shape.ValueSite): string | undefined {
  if (!shape.isTable(raw)) return shape.note(site, { is: describeValue(raw), expected: 'a table' });
  try {
    // Boundary: TOML has dates, big integers and infinities, and none of them is JSON.
    return canonicalize(plain(raw));
  } catch {
    const expected = 'texts, numbers, booleans, lists and tables';
    return shape.note(site, { is: 'it holds a value that is not JSON', expected });
  }
}

function plain(value: unknown): unknown {
  if (value instanceof Date || typeof value === 'bigint') throw new TypeError('not JSON');
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError('not JSON');
  if (Array.isArray(value)) return value.map(plain);
  if (!shape.isTable(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

function time(raw: unknown, site: shape.ValueSite): number | undefined {
  const isIso = typeof raw === 'string' && ISO_TIME.test(raw);
  const ms = raw instanceof Date ? raw.getTime() : isIso ? Date.parse(raw) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  return shape.note(site, { is: describeValue(raw), expected: 'a time such as "2026-01-02T03:04:05Z"' });
}

function wrong(found: readonly ShapeProblem[], positions: Positions, file: string): CodedError {
  const [first] = locate(found, positions, 1);
  return wrongUsage(
    first === undefined ? `${file}: Cannot read the policy tests` : formatProblem(first, file),
  );
}

function wrongUsage(message: string): CodedError {
  return new CodedError('door/wrong-usage', message);
}
