import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CODES } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import { parseStrict } from '../../../core/strict-json.ts';
import type { Opened, Records } from '../../../invoke/gateway.ts';
import { openSkills } from '../../../invoke/skills/audit.ts';
import { checkDocument } from '../../../operations/policies.ts';
import { type CheckResult, checkDirectory } from '../../../policy/check.ts';
import type { ToolsOf } from '../../../policy/parse.ts';
import { BUILTIN_TOOLS } from '../../../registry/builtin.table.ts';
import { processTool } from '../../../registry/process-tool.ts';
import { Registry } from '../../../registry/registry.ts';
import { placeIn, readFileFlag, readInput, textOf, timeoutOf, wrongUsage } from '../input.ts';
import { INPUT_LIMITS } from '../make-call.ts';
import { operationVerb } from '../operate.ts';
import { counted, type Printer, printProblem } from '../printer.ts';
import { printExplanation } from '../show-plan.ts';
import type { Invocation } from '../verb.ts';

export const list = operationVerb(
  'getPolicies',
  () => ({}),
  ({ digest, policies, problems }, { print }) => {
    print.line(digest === null ? 'No policy set is live: every call is denied.' : `live set ${digest}`);
    print.table(
      ['ID', 'EFFECT', 'FILE'],
      policies.map(({ id, effect, file }) => [id, effect, file]),
    );
    if (problems.length > 0)
      print.note('The policy files have problems and are not live; run `palisade policy check`.', 'yellow');
  },
);

/** Checks files of the caller, with a state directory or without one, so it asks no gateway: opening one would activate them. */
export async function check(invocation: Invocation): Promise<number> {
  const { args, print, stateDir, edge } = invocation;
  const [given] = args;
  const directory = given === undefined ? join(stateDir.path, 'policies') : resolve(edge.cwd, given);
  const result = await withKnownTools(invocation, (toolsOf) => checkDirectory(directory, toolsOf));
  print.result(checkDocument(result), () => printCheck(print, result));
  return result.ok ? 0 : CODES['policy/unavailable'].exitStatus;
}

function printCheck(print: Printer, result: CheckResult): void {
  const problems = result.ok ? [] : result.problems;
  for (const problem of problems) printProblem(print, problem);
  for (const { hint: _, ...warning } of result.warnings) printProblem(print, warning, 'warning: ');
  if (result.ok)
    print.note('ok', 'green', `  ${result.set.policies.length} policies, set ${result.set.digest}`);
  else {
    const count = counted(problems.length, 'problem');
    print.note('refused', 'red', `  ${count}; the live set stays as it is`);
  }
}

/** Where it does not exist, nothing was ever installed. */
const DATABASE = 'palisade.db';
/** What every gateway has; of the tool for commands only its shape is used. */
const FIXED_TOOLS = [...BUILTIN_TOOLS, processTool(neverRun, neverRun)];

/**
 * Hands a check the tools that policies can name: the fixed ones, and of the installed skills those that a text names. A
 * missing state directory is not created for it, one that cannot be opened has no skills to offer, and no policy is
 * activated in any of them.
 */
async function withKnownTools<T>(invocation: Invocation, act: (toolsOf: ToolsOf) => T): Promise<T> {
  const { stateDir, print } = invocation;
  if (!existsSync(join(stateDir.path, DATABASE))) return act(() => FIXED_TOOLS);
  let records: Opened<Records>;
  try {
    records = await invocation.openRecords();
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    if (!print.json) print.note('!', 'yellow', ` the tools of skills are not known: ${error.message}`);
    return act(() => FIXED_TOOLS);
  }
  try {
    return withToolsOf(records, stateDir.path, act);
  } finally {
    await records.close();
  }
}

/** The same with the skills of records that are open. */
export function withToolsOf<T>(records: Opened<Records>, stateDir: string, act: (toolsOf: ToolsOf) => T): T {
  const { config } = records;
  const { installed, tools: skills } = openSkills(records, config, stateDir);
  try {
    const { input, limits, ceilings } = config;
    const loadSchemas = () =>
      Promise.reject(new TypeError('Cannot compile a schema: nothing is called here'));
    const registry = new Registry({ tools: FIXED_TOOLS, skills, input, limits, ceilings, loadSchemas });
    return act((named) => registry.named(named));
  } finally {
    installed.running.close();
  }
}

function neverRun(): never {
  throw new TypeError('Cannot run a command: policies are only checked here');
}

export const explain = operationVerb(
  'explainCall',
  async (invocation) => {
    const [tool] = invocation.args;
    const [timeoutMs, run] = [timeoutOf(invocation) ?? undefined, textOf(invocation, 'run')];
    const input = parseStrict(await readInput(invocation), INPUT_LIMITS);
    const from = { ...placeIn(invocation), session: textOf(invocation, 'session') };
    if (input.ok) return { tool, input: input.value, run, timeoutMs, ...from };
    throw new CodedError('registry/invalid-input', `Cannot use the input of ${tool}: ${input.message}`);
  },
  (explained, { args: [tool], print }) =>
    printExplanation(print, `${explained.principal} calls ${tool}`, explained),
  ({ verdict }) => (verdict === 'allow' ? 0 : CODES['policy/denied'].exitStatus),
);

export const test = operationVerb(
  'testPolicies',
  async ({ args: [file = ''] }) => ({ cases: decode(await readFileFlag(file), file), file }),
  ({ cases, passed, failed }, { args: [file], print }) => {
    for (const { name, line, expected, actual, message, ...result } of cases) {
      const failure = `  ${file}:${line} ${name}: expected ${expected}, got ${actual}. ${message}`;
      if (result.passed) print.styled('green', 'pass', `  ${name}: ${actual}`);
      else print.styled('red', 'FAIL', failure);
    }
    print.line(`${passed} passed, ${failed} failed`);
  },
  ({ failed }) => (failed === 0 ? 0 : CODES['attest/unverified'].exitStatus),
);

function decode(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw wrongUsage(`Cannot read "${file}": it is not UTF-8`);
  }
}
