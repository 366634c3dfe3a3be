import type { DetailedError, PolicyJson } from './cedar.ts';
import { POLICY_LIMITS } from './limits.ts';
import type { Policy, PolicyFile, PolicyProblem } from './policy-set.ts';
import { fileProblem } from './read-files.ts';
import { type Piece, positionAt, scan } from './scan.ts';
import type { Workbench } from './workbench.ts';

/** A policy with what the later checks need: its syntax tree and where it stands. */
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
  if (deepest > POLICY_LIMITS.openBrackets)
    return refuseFile(problemAt(file, deepestByte, TOO_DEEP, TOO_DEEP_HINT));
  const parts = bench.try((cedar) => cedar.policySetTextToParts(file.text));
  if (!parts.ok) return refuseFile(problemAt(file, deepestByte, TOO_DEEP, TOO_DEEP_HINT));
  if (parts.value.type === 'failure') {
    return { policies: [], problems: parts.value.errors.map((error) => syntaxProblem(file, error)) };
  }
  const { policies, policy_templates: templates } = parts.value;
  if (templates.length > 0) {
    const start = pieces.find(({ text }) => templates.includes(text))?.startByte ?? 0;
    return refuseFile(
      problemAt(file, start, 'Cannot use this policy: it is a template, expected no ?principal or ?resource'),
    );
  }
  // Boundary: Cedar and we must agree on where each policy begins and ends, or an @id could name another text.
  if (!isSame(policies, pieces))
    return refuseFile(fileProblem(file.name, 'Cannot tell the policies of this file apart'));
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

/** How deep expressions are nested. Goes level by level, so that no tree is too deep to be measured. */
export function depthOf(json: PolicyJson): number {
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

/** A problem at a UTF-8 offset of a file. */
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
