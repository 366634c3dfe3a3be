import { CODES, type Code } from '@palisade/sdk';
import { quote } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import { anyText, ifPresent, readJson } from '../../core/json-shape.ts';
import { accept, type Problem, type Result, reject } from '../../core/result.ts';
import {
  anything,
  choice,
  type FilledTable,
  note,
  noteRepeated,
  optional,
  required,
  type Shape,
  table,
  tables,
  textLike,
  texts,
  type ValueSite,
  withDefault,
} from '../../core/shape.ts';
import { CASE_LIMITS } from '../limits.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { CASES_FOLDER, type Entries } from '../package/skill-package.ts';

/** What a case requires, so that it is run only where that is granted. */
const CASE_NEEDS = ['storage', 'channel', 'log', 'clock', 'random', 'config', 'secret', 'http'] as const;
type CaseNeed = (typeof CASE_NEEDS)[number];

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

/** What is wrong with the cases of a package; `file` is a path of the package. */
type CaseProblem = Problem & { readonly file: string };

const CASE_FILE = new RegExp(`^${CASES_FOLDER}[^/]+\\.json$`);
const NAME = textLike(
  `a text of 1 to ${CASE_LIMITS.nameChars} characters`,
  (text) => text !== '' && text.length <= CASE_LIMITS.nameChars,
);
const CODE = textLike('a code of docs/errors.md', (text) => Object.hasOwn(CODES, text));

/** Reads the test cases of a package, file by file, or says what is wrong first. */
export function parseCases(entries: Entries, manifest: Manifest): Result<readonly SkillCase[], CaseProblem> {
  const shape = fileShape(manifest);
  const cases: SkillCase[] = [];
  for (const [file, bytes] of entries) {
    if (!CASE_FILE.test(file)) continue;
    const read = readFile(file, bytes, shape);
    if (!read.ok) return read;
    cases.push(...read.value);
  }
  if (cases.length <= CASE_LIMITS.cases) return accept(cases);
  const is = `there are ${cases.length}`;
  return reject({ subject: 'the cases', is, expected: `at most ${CASE_LIMITS.cases}`, file: CASES_FOLDER });
}

function readFile(
  file: string,
  bytes: Uint8Array,
  shape: FileShape,
): Result<readonly SkillCase[], CaseProblem> {
  const read = readJson(bytes, { maxBytes: CASE_LIMITS.fileBytes, maxDepth: CASE_LIMITS.levels }, shape);
  if (!read.ok) return reject({ ...read.problem, file });
  return accept(read.value.cases.map((raw) => toCase(raw, file)));
}

type FileShape = ReturnType<typeof fileShape>;
type RawCase = FilledTable<ReturnType<typeof caseFields>>;

function fileShape(manifest: Manifest) {
  const each = table(caseFields(manifest), { header: '{"name": …}', also: demandEnding });
  const list = tables(each, { max: Number.MAX_SAFE_INTEGER, header: '"cases"' });
  const cases: Shape<readonly RawCase[]> = (raw, site) => {
    const checked = list(raw, site);
    noteRepeated(checked ?? [], 'name', site);
    return checked;
  };
  return table({ cases: required(cases, '{"cases": [...]}') }, { header: '{"cases": [...]}' });
}

function caseFields({ tools }: Manifest) {
  return {
    name: required(NAME),
    tool: required(choice(tools.map(({ id }) => id))),
    input: required(anything),
    output: ifPresent(anything),
    code: optional(CODE),
    message: optional(anyText),
    needs: withDefault(texts(choice(CASE_NEEDS)), []),
  };
}

function demandEnding(raw: RawCase, site: ValueSite): void {
  const hasOutput = Object.hasOwn(raw, 'output');
  if (hasOutput === (raw.code !== null)) {
    note(site, { is: `it has ${hasOutput ? 'both' : 'neither'} output and code`, expected: 'one of them' });
  } else if (hasOutput && raw.message !== null) {
    note(site, { is: `it has a message ${quote(raw.message)} and no code`, expected: 'both or neither' });
  }
}

function toCase({ name, tool, input, output, code, message, needs }: RawCase, file: string): SkillCase {
  const ending = message === null ? { code: code as Code } : { code: code as Code, message };
  const expect = code === null ? { output: output as Json } : ending;
  return { name, file, tool, inputText: JSON.stringify(input), expect, needs: needs as readonly CaseNeed[] };
}
