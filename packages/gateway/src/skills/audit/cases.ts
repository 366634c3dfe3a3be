import { CODES, type Code } from '@palisade/sdk';
import type { Json } from '../../core/json.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { CASES_FOLDER, type Entries } from '../package/skill-package.ts';

/** What a case wants to be there, so that it is run only where that is granted. */
export const CASE_NEEDS = [
  'storage',
  'channel',
  'log',
  'clock',
  'random',
  'config',
  'secret',
  'http',
] as const;
export type CaseNeed = (typeof CASE_NEEDS)[number];

/** One call of a tool, and how it has to end. */
export type SkillCase = {
  readonly name: string;
  readonly file: string;
  /** Without the id of the skill. */
  readonly tool: string;
  /** JSON. */
  readonly inputText: string;
  readonly expect: { readonly output: Json } | { readonly code: Code; readonly message?: string };
  readonly needs: readonly CaseNeed[];
};

export type ParsedCases =
  | { readonly ok: true; readonly cases: readonly SkillCase[] }
  | { readonly ok: false; readonly where: string; readonly what: string };

const MOST_CASES = 256;
const NAME_CHARS = 200;
const LIMITS = { maxBytes: 4 * 1024 * 1024, maxDepth: 64 };
const KEYS: readonly string[] = ['name', 'tool', 'input', 'output', 'code', 'message', 'needs'];
const CASE_FILE = new RegExp(`^${CASES_FOLDER}[^/]+\\.json$`);

/** Thrown and caught in this file alone. */
class Problem {
  readonly where: string;
  readonly what: string;
  constructor(where: string, what: string) {
    this.where = where;
    this.what = what;
  }
}

/** Reads the test cases of a package, file by file; the first thing that is wrong is told with its place. */
export function parseCases(entries: Entries, manifest: Manifest): ParsedCases {
  const cases: SkillCase[] = [];
  try {
    for (const [file, bytes] of entries)
      if (CASE_FILE.test(file)) cases.push(...readFile(file, bytes, manifest));
    if (cases.length > MOST_CASES)
      throw new Problem(
        CASES_FOLDER,
        `Cannot read cases: there are ${cases.length}, expected at most ${MOST_CASES}`,
      );
    return { ok: true, cases };
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    return { ok: false, where: problem.where, what: problem.what };
  }
}

function readFile(file: string, bytes: Uint8Array, manifest: Manifest): readonly SkillCase[] {
  const parsed = parseStrict(bytes, LIMITS);
  if (!parsed.ok) throw new Problem(file, parsed.message);
  const list =
    isObject(parsed.value) && Object.keys(parsed.value).join() === 'cases' ? parsed.value.cases : null;
  if (!Array.isArray(list))
    throw new Problem(file, 'Cannot read cases: it is something else, expected {"cases": [...]}');
  const names = new Set<string>();
  return (list as readonly Json[]).map((value, at) => {
    const refuse = (is: string, expected: string) =>
      new Problem(file, `Cannot read case ${at + 1}: ${is}, expected ${expected}`);
    const read = readCase({ file, value, manifest, refuse });
    if (names.has(read.name)) throw refuse(`there is another "${read.name}"`, 'each name once');
    names.add(read.name);
    return read;
  });
}

type Reading = {
  readonly file: string;
  readonly value: Json;
  readonly manifest: Manifest;
  readonly refuse: (is: string, expected: string) => Problem;
};

function readCase({ file, value, manifest, refuse }: Reading): SkillCase {
  if (!isObject(value)) throw refuse('it is no object', 'an object');
  const unknown = Object.keys(value).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    throw refuse(`the key ${JSON.stringify(unknown)} is unknown`, `one of ${KEYS.join(', ')}`);
  const { name, tool, input, needs = [] } = value;
  if (typeof name !== 'string' || name === '' || name.length > NAME_CHARS)
    throw refuse('its name is no text', `one of 1 to ${NAME_CHARS} characters`);
  const tools = manifest.tools.map(({ id }) => id);
  if (typeof tool !== 'string' || !tools.includes(tool))
    throw refuse('its tool is none of skill.toml', `one of ${tools.join(', ')}`);
  if (input === undefined) throw refuse('it has no input', 'one');
  if (!Array.isArray(needs) || !(needs as readonly Json[]).every(isNeed))
    throw refuse('its needs are something else', `a list of ${CASE_NEEDS.join(', ')}`);
  return {
    name,
    file,
    tool,
    inputText: JSON.stringify(input),
    expect: expectOf(value, refuse),
    needs: needs as CaseNeed[],
  };
}

function expectOf(value: { readonly [key: string]: Json }, refuse: Reading['refuse']): SkillCase['expect'] {
  const { output, code, message } = value;
  if ((output === undefined) === (code === undefined))
    throw refuse('it has both or none of them', 'output or code');
  if (output !== undefined) {
    if (message !== undefined) throw refuse('it has a message without a code', 'one with a code');
    return { output };
  }
  if (typeof code !== 'string' || !Object.hasOwn(CODES, code))
    throw refuse('its code is unknown', 'one of docs/errors.md');
  if (message === undefined) return { code: code as Code };
  if (typeof message !== 'string') throw refuse('its message is no text', 'a text');
  return { code: code as Code, message };
}

function isNeed(value: Json): boolean {
  return (CASE_NEEDS as readonly Json[]).includes(value);
}

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
