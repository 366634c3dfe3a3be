import { canonicalize } from '@palisade/sdk';
import { parse, TomlError } from 'smol-toml';
import { CodedError } from '../core/coded-error.ts';
import { type Principal, parsePrincipal } from '../core/principal.ts';
import { SKILL_ACTS, type SkillAct } from './skill-act.ts';
import { readSkillCase, type SkillCase } from './skill-case.ts';

/*
 * A file of policy tests: TOML with one [[case]] for each call and the answer it must get. Strict: a key that is not
 * known, a wrong type or a missing answer is an error with its line, never a test that passes by accident.
 */

export type PolicyCase = {
  readonly name: string;
  readonly line: number;
  readonly principal: Principal;
  readonly action: CaseAction;
  /** Null for an action that is about no tool. */
  readonly tool: string | null;
  /** Null for an action that is about no skill. */
  readonly skill: SkillCase | null;
  /** Whose call is to be approved. */
  readonly asker: string;
  readonly inputText: string;
  readonly approved: boolean;
  readonly atMs: number | null;
  readonly groups: readonly string[] | null;
  readonly expected: 'allow' | 'deny' | 'ask';
  /** Null when any policy may have decided. */
  readonly decidedBy: readonly string[] | null;
};

export type CaseAction = 'call' | 'approve' | 'readJournal' | 'administer' | SkillAct;

const ACTIONS: readonly string[] = ['call', 'approve', 'readJournal', 'administer', ...SKILL_ACTS];

export function isSkillAct(action: CaseAction): action is SkillAct {
  return (SKILL_ACTS as readonly string[]).includes(action);
}

type Raw = Readonly<Record<string, unknown>>;
type Field = {
  readonly required: boolean;
  readonly isValid: (value: unknown) => boolean;
  readonly expected: string;
};

const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isTable = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isBoolean = (value: unknown) => typeof value === 'boolean';
const isExpected = (value: unknown) => value === 'allow' || value === 'deny' || value === 'ask';
const isPrincipal = (value: unknown) => typeof value === 'string' && parsePrincipal(value) !== null;
const isAction = (value: unknown) => typeof value === 'string' && ACTIONS.includes(value);
const isTime = (value: unknown) => !Number.isNaN(timeOf(value));

const FIELDS: Readonly<Record<string, Field>> = {
  name: { required: false, isValid: isText, expected: 'a text' },
  principal: {
    required: true,
    isValid: isPrincipal,
    expected: '"agent:NAME", "user:NAME" or "service:NAME"',
  },
  action: {
    required: false,
    isValid: isAction,
    expected: `one of ${ACTIONS.join(', ')}`,
  },
  asker: { required: false, isValid: isPrincipal, expected: 'the principal whose call is to be approved' },
  tool: { required: false, isValid: isText, expected: 'the name of a tool' },
  skill: { required: false, isValid: isTable, expected: 'a table that describes a skill' },
  input: { required: false, isValid: isTable, expected: 'a table' },
  input_json: { required: false, isValid: isText, expected: 'a text with JSON' },
  approved: { required: false, isValid: isBoolean, expected: 'true or false' },
  at: { required: false, isValid: isTime, expected: 'a time such as "2026-01-02T03:04:05Z"' },
  groups: { required: false, isValid: isTexts, expected: 'a list of group names' },
  expected: { required: true, isValid: isExpected, expected: '"allow", "deny" or "ask"' },
  decided_by: { required: false, isValid: isTexts, expected: 'a list of policy ids' },
};

/** Reads a case file; throws a CodedError `door/wrong-usage` with file, line and column. */
export function parseCases(text: string, file: string): PolicyCase[] {
  const document = parseToml(text, file);
  for (const key of Object.keys(document)) {
    if (key !== 'case') throw wrong(file, lineOf(text, key, 0), `"${key}" is not known, expected [[case]]`);
  }
  const cases = document.case ?? [];
  if (!Array.isArray(cases) || !cases.every(isTable))
    throw wrong(file, 1, '"case" is not a list, expected [[case]]');
  const lines = caseLines(text);
  return cases.map((raw: Raw, i) => readCase(raw, text, { file, line: lines[i] ?? 1, index: i }));
}

function parseToml(text: string, file: string): Raw {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ''] = error.message.split('\n');
    throw wrong(file, error.line, what, error.column);
  }
}

type Place = { readonly file: string; readonly line: number; readonly index: number };

function readCase(raw: Raw, text: string, { file, line, index }: Place): PolicyCase {
  for (const [key, value] of Object.entries(raw)) {
    const field = Object.hasOwn(FIELDS, key) ? FIELDS[key] : undefined;
    const keyLine = lineOf(text, key, line - 1);
    if (field === undefined)
      throw wrong(file, keyLine, `"${key}" is not known, expected ${Object.keys(FIELDS).join(', ')}`);
    if (!field.isValid(value))
      throw wrong(file, keyLine, `"${key}" is not valid, expected ${field.expected}`);
  }
  for (const [key, { required, expected }] of Object.entries(FIELDS)) {
    if (required && raw[key] === undefined)
      throw wrong(file, line, `the case has no "${key}", expected ${expected}`);
  }
  if (raw.input !== undefined && raw.input_json !== undefined) {
    throw wrong(file, line, 'the case has both "input" and "input_json", expected one of them');
  }
  const action = (raw.action as CaseAction | undefined) ?? 'call';
  if (raw.tool === undefined && (action === 'call' || action === 'approve')) {
    throw wrong(file, line, 'the case has no "tool", expected the name of a tool');
  }
  const skill = skillOf(raw, action);
  if (typeof skill === 'string') throw wrong(file, line, skill);
  const principal = parsePrincipal(String(raw.principal));
  if (principal === null) throw wrong(file, line, '"principal" is not valid');
  return {
    name: (raw.name as string | undefined) ?? `case ${index + 1}`,
    line,
    principal,
    action,
    tool: (raw.tool as string | undefined) ?? null,
    skill,
    asker: (raw.asker as string | undefined) ?? 'agent:asker',
    inputText: (raw.input_json as string | undefined) ?? inputOf(raw.input ?? {}, file, line),
    approved: raw.approved === true,
    atMs: raw.at === undefined ? null : timeOf(raw.at),
    groups: (raw.groups as string[] | undefined) ?? null,
    expected: raw.expected as PolicyCase['expected'],
    decidedBy: (raw.decided_by as string[] | undefined) ?? null,
  };
}

function skillOf(raw: Raw, action: CaseAction): SkillCase | string | null {
  if (!isSkillAct(action))
    return raw.skill === undefined ? null : `the case has a "skill", expected none for "${action}"`;
  if (raw.tool !== undefined) return `the case has a "tool", expected none for "${action}"`;
  return readSkillCase((raw.skill as Raw | undefined) ?? {});
}

function inputOf(input: unknown, file: string, line: number): string {
  try {
    // Boundary: TOML has dates, big integers and infinities, and none of them is JSON.
    return canonicalize(plain(input));
  } catch {
    throw wrong(
      file,
      line,
      '"input" holds a value that is not JSON, expected text, numbers, booleans, lists and tables',
    );
  }
}

function plain(value: unknown): unknown {
  if (value instanceof Date || typeof value === 'bigint') throw new TypeError('not JSON');
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError('not JSON');
  if (Array.isArray(value)) return value.map(plain);
  if (!isTable(value)) return value;
  return Object.fromEntries(Object.entries(value as Raw).map(([key, one]) => [key, plain(one)]));
}

function timeOf(value: unknown): number {
  if (value instanceof Date) return value.getTime();
  const isIso =
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(value);
  return isIso ? Date.parse(value) : Number.NaN;
}

function caseLines(text: string): number[] {
  const lines = text.split('\n');
  return lines.flatMap((line, i) => (/^\s*\[\[\s*("case"|'case'|case)\s*\]\]/.test(line) ? [i + 1] : []));
}

/** The line on which a key stands, from a line on; that line itself when it cannot be told. */
function lineOf(text: string, key: string, from: number): number {
  const lines = text.split('\n');
  const at = lines.findIndex((line, i) => i >= from && line.replace(/["']/g, '').trimStart().startsWith(key));
  return at < 0 ? from + 1 : at + 1;
}

function wrong(file: string, line: number, what: string, column = 1): CodedError {
  return new CodedError(
    'door/wrong-usage',
    `${file}:${line}:${column}: Cannot read the policy tests: ${what}`,
  );
}
