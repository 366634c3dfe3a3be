import type { Tool } from '../core/tool.ts';
import type { DetailedError, PolicyJson, Workbench } from './cedar.ts';
import { uidOf } from './entities.ts';
import { POLICY_LIMITS } from './limits.ts';
import { fileProblem } from './policy-files.ts';
import type { Policy, PolicyFile, PolicyProblem } from './policy-set.ts';

/** A policy with what the later checks need: its syntax tree and its position. */
export type ParsedPolicy = Policy & {
  readonly json: PolicyJson;
  readonly source: PolicyFile;
  readonly startByte: number;
};

type Parsed = { readonly policies: readonly ParsedPolicy[]; readonly problems: readonly PolicyProblem[] };

const TOO_DEEP = 'Cannot use this policy: it is nested too deeply';
const TOO_DEEP_HINT = 'Split it into several policies, or put alternatives into one set with .contains()';
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Parses files one by one; a file that breaks the parser is refused alone. */
export function parseFiles(bench: Workbench, files: readonly PolicyFile[]): Parsed {
  const parsed = files.map((file) => parseFile(bench, file));
  const policies = parsed.flatMap((one) => one.policies);
  const problems = [...parsed.flatMap((one) => one.problems), ...findDuplicates(policies)];
  if (policies.length > POLICY_LIMITS.policies) {
    const message = `Cannot use the policies: there are ${policies.length}, expected at most ${POLICY_LIMITS.policies}`;
    problems.push(fileProblem('.', message));
  }
  return { policies, problems };
}

function parseFile(bench: Workbench, file: PolicyFile): Parsed {
  const { pieces, deepest, deepestByte } = scan(file.text);
  // Boundary: brackets this deep exhaust the stack of Cedar's parser.
  const isTooDeep = deepest > POLICY_LIMITS.openBrackets;
  const parts = isTooDeep ? null : bench.try((cedar) => cedar.policySetTextToParts(file.text));
  if (!parts?.ok) return refuseFile(problemAt(file, deepestByte, TOO_DEEP, TOO_DEEP_HINT));
  if (parts.value.type === 'failure') {
    return { policies: [], problems: parts.value.errors.map((error) => syntaxProblem(file, error)) };
  }
  const { policies, policy_templates: templates } = parts.value;
  if (templates.length > 0) {
    const start = pieces.find(({ text }) => templates.includes(text))?.startByte ?? 0;
    const message = 'Cannot use this policy: it is a template, expected no ?principal or ?resource';
    return refuseFile(problemAt(file, start, message));
  }
  // Boundary: Cedar and we must agree on where each policy begins and ends, or an @id could name another text.
  if (!isSame(policies, pieces))
    return refuseFile(fileProblem(file.name, 'Cannot separate the policies of this file'));
  return parsePieces(bench, file, pieces);
}

function isSame(texts: readonly string[], pieces: readonly Piece[]): boolean {
  const ours = pieces.map(({ text }) => text).sort();
  return texts.length === ours.length && [...texts].sort().every((text, i) => text === ours[i]);
}

function parsePieces(bench: Workbench, file: PolicyFile, pieces: readonly Piece[]): Parsed {
  const policies: ParsedPolicy[] = [];
  const problems: PolicyProblem[] = [];
  pieces.forEach((piece, index) => {
    const json = parsePolicy(bench, piece.text);
    const id = typeof json === 'string' ? null : idOf(json, `${file.name}#${index + 1}`);
    if (typeof json === 'string') {
      problems.push(problemAt(file, piece.startByte, json, json === TOO_DEEP ? TOO_DEEP_HINT : null));
    } else if (id === null) {
      const message = 'Cannot use this @id: expected 1 to 128 letters, digits, ".", "_" or "-"';
      problems.push(problemAt(file, piece.startByte, message));
    } else {
      const { startByte, text } = piece;
      policies.push({ id, file: file.name, effect: json.effect, text, json, source: file, startByte });
    }
  });
  return { policies, problems };
}

/** The syntax tree of one policy, or a sentence that says why it is not used. */
export function parsePolicy(bench: Workbench, text: string): PolicyJson | string {
  const answer = bench.try((cedar) => cedar.policyToJson(text));
  if (!answer.ok) return TOO_DEEP;
  if (answer.value.type === 'failure') return `Cannot read this policy: ${answer.value.errors[0]?.message}`;
  return depthOf(answer.value.json) > POLICY_LIMITS.expressionDepth ? TOO_DEEP : answer.value.json;
}

/** The actions that a scope names; null for all of them. */
export function namedActions(action: PolicyJson['action']): string[] | null {
  if (action.op === 'All' || 'slot' in action) return null;
  const entities = 'entities' in action ? action.entities : [action.entity];
  return entities.map((entity) => uidOf(entity).id);
}

/** How deep expressions are nested. Goes level by level, so that no tree is too deep to be measured. */
function depthOf(json: PolicyJson): number {
  let levels = 0;
  for (let level: unknown[] = [...json.conditions]; level.length > 0; levels++) {
    level = level.flatMap((node) => (typeof node === 'object' && node !== null ? Object.values(node) : []));
  }
  // An expression is an object in an object: the operator, and its operands.
  return Math.ceil(levels / 2);
}

function idOf(json: PolicyJson, fallback: string): string | null {
  const annotations: Record<string, string | null> = json.annotations ?? {};
  const id = annotations.id;
  if (id === undefined) return fallback;
  return id !== null && ID.test(id) ? id : null;
}

function findDuplicates(policies: readonly ParsedPolicy[]): PolicyProblem[] {
  const first = new Map<string, ParsedPolicy>();
  const problems: PolicyProblem[] = [];
  for (const policy of policies) {
    const earlier = first.get(policy.id);
    if (earlier === undefined) first.set(policy.id, policy);
    else {
      const message = `Cannot use policy "${policy.id}": another policy in ${earlier.file} has the same @id`;
      problems.push({ ...problemAt(policy.source, policy.startByte, message), policy: policy.id });
    }
  }
  return problems;
}

function syntaxProblem(file: PolicyFile, error: DetailedError): PolicyProblem {
  const at = error.sourceLocations?.[0];
  const hint = error.help ?? at?.label ?? null;
  return problemAt(file, at?.start ?? 0, `Cannot read the policies: ${error.message}`, hint);
}

export function problemAt(
  file: PolicyFile,
  byte: number,
  message: string,
  hint: string | null = null,
): PolicyProblem {
  return { ...fileProblem(file.name, message, hint), ...positionAt(file.text, byte) };
}

function refuseFile(problem: PolicyProblem): Parsed {
  return { policies: [], problems: [problem] };
}

/*
 * The first pass over a policy text, before Cedar sees it: where each policy begins and ends, and how deep its brackets
 * go. It knows just enough of the grammar for that: strings, line comments, brackets and the `;` that ends a policy.
 */

type Piece = { readonly text: string; readonly startByte: number };

/** Where each policy is, how many brackets are open at most, and where that is. */
type Scan = { readonly pieces: readonly Piece[]; readonly deepest: number; readonly deepestByte: number };

// Strings, comments, and what is between them. An unterminated string runs to the end, so that no text is scanned twice;
// Cedar ends a comment at a carriage return too.
const STRING = /"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)/.source;
const COMMENT = /\/\/[^\r\n]*/.source;
const TOKEN = new RegExp(`${STRING}|${COMMENT}|${/[^"/()[\]{};\s]+|\s+|[\s\S]/.source}`, 'g');

/** Splits a text into its policies without parsing it; never throws and takes linear time. */
export function scan(text: string): Scan {
  const ranges: [number, number][] = [];
  let [start, depth, deepest, deepestIndex] = [-1, 0, 0, 0];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const isPart = !token.startsWith('//') && token.trim() !== '';
    if (isPart && start < 0) start = index;
    if ('([{'.includes(token)) depth += 1;
    if (')]}'.includes(token)) depth -= 1;
    if (depth > deepest) [deepest, deepestIndex] = [depth, index];
    if (token !== ';') continue;
    ranges.push([start, index + 1]);
    start = -1;
  }
  if (start >= 0) ranges.push([start, text.length]);
  const deepestByte = Buffer.byteLength(text.slice(0, deepestIndex));
  return { pieces: toPieces(text, ranges), deepest, deepestByte };
}

function toPieces(text: string, ranges: readonly [number, number][]): Piece[] {
  let byte = 0;
  let index = 0;
  return ranges.map(([start, end]) => {
    byte += Buffer.byteLength(text.slice(index, start));
    index = start;
    return { text: text.slice(start, end), startByte: byte };
  });
}

/** Line and column (both from 1, in characters) of a UTF-8 offset, which is how Cedar counts. */
export function positionAt(text: string, byte: number): { line: number; column: number } {
  const before = Buffer.from(text).subarray(0, byte).toString();
  const lines = before.split('\n');
  return { line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 };
}

/*
 * Which tools and skills policy texts name. There may be more tools of skills than a check could ever look at, so it
 * looks at the permanent ones and at those that a text names. The answer is read off the texts without Cedar, which an
 * unchanged set at a start does not need.
 */

/** The ids in `Tool::"…"` and `Skill::"…"`, anywhere in a policy. */
export type NamedEntities = { readonly tools: ReadonlySet<string>; readonly skills: ReadonlySet<string> };

/**
 * Returns the permanent tools and those of the named tools that exist; each once, in a fixed order. It is called at
 * every look at the files, so it must be fast and return the same record for a tool that has not changed.
 */
export type ToolsOf = (named: NamedEntities) => readonly Tool[];

// Lexes a text as Cedar does: strings and comments are skipped whole, and comments may occur between tokens. The end of
// a comment is required, so that a gap can be read in one way only and in linear time.
const GAP = /(?:\s|\/\/[^\r\n]*(?=[\r\n]|$))*/.source;
const NAME = `(?<![\\w:])(Tool|Skill)${GAP}::${GAP}"((?:[^"\\\\]|\\\\[\\s\\S])*)"`;
const REFERENCE = new RegExp(`${STRING}|${COMMENT}|${NAME}`, 'g');
const ESCAPED = /\\(?:u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2}))/g;

/** Finds every name that Cedar would find in texts that it can parse; it may find more. */
export function namedIn(texts: readonly string[]): NamedEntities {
  const tools = new Set<string>();
  const skills = new Set<string>();
  for (const text of texts) {
    for (const [, type, id = ''] of text.matchAll(REFERENCE)) {
      if (type !== undefined) (type === 'Tool' ? tools : skills).add(unescaped(id));
    }
  }
  return { tools, skills };
}

function unescaped(id: string): string {
  return id.replace(ESCAPED, (whole, long?: string, short?: string) => {
    const code = Number.parseInt(long ?? short ?? '', 16);
    return code > 0x10ffff ? whole : String.fromCodePoint(code);
  });
}
