/**
 * The test cases of a package, each a call like every other: the policies judge it as a call of the tester, budgets are
 * charged, and it has a receipt. Its tools are named `test.…` and exist only while the cases run. Without capabilities
 * every request of a guest is denied; with them it has storage and channels of a skill that no one else uses, and still
 * reaches no host and gets no secret.
 */
import { canonicalize } from '@palisade/sdk';
import type { ToolCall } from '../../core/call.ts';
import type { CallLog } from '../../core/call-log.ts';
import { makeId } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Json } from '../../core/json.ts';
import type { Outcome } from '../../core/outcome.ts';
import { formatProblem } from '../../core/shape-problem.ts';
import { parsePrefix } from '../../core/storage-key.ts';
import type { Tool } from '../../core/tool.ts';
import { skillTools } from '../../registry/skill-tool.ts';
import { parseCases, type SkillCase } from '../../skills/audit/cases.ts';
import { narrowGrant, type SkillGrant } from '../../skills/grant.ts';
import type { Manifest } from '../../skills/manifest/manifest.ts';
import type { SkillPackage } from '../../skills/package/skill-package.ts';
import { Space } from '../../storage/space.ts';
import type { Gateway } from '../gateway.ts';
import { invoke } from '../invoke.ts';
import type { Acting } from './skill-acts.ts';

export type CaseJob = Acting & {
  readonly pkg: SkillPackage;
  readonly withCapabilities: boolean;
  readonly signal: AbortSignal;
  /** No case starts after this many milliseconds; left out: all of them start. */
  readonly mostMs?: number;
  readonly onCase?: (result: CaseResult) => void;
};

export type CaseResult = {
  readonly case: SkillCase;
  readonly verdict: 'passed' | 'failed' | 'not-run';
  /** Why it did not pass; null where it did. */
  readonly why: string | null;
  readonly callId: string | null;
  readonly fuel: number;
  /** What its guest logged and was denied; null where there is nothing. */
  readonly log: CallLog | null;
};

const PREFIX = 'test.';
const CATEGORY = 'skill-test';
const DOOR = 'test';
/** What even a case with capabilities does not get: another machine, or a secret. */
const NEVER: ReadonlySet<string> = new Set(['http', 'secret']);
const NONE = { limits: {}, config: {} } as const;
const LATE = 'the cases before it took too long';
/** The longest text of a difference that is displayed. */
const MOST_SHOWN_CHARS = 400;

/** Runs every case in order; a package may have none. Throws where its cases cannot be read, or on cancellation. */
export async function runCases(gateway: Gateway, job: CaseJob): Promise<readonly CaseResult[]> {
  const { pkg, withCapabilities } = job;
  const { manifest } = pkg;
  const parsed = parseCases(pkg.entries, manifest);
  if (!parsed.ok) {
    const why = formatProblem(parsed.problem, parsed.problem.file);
    throw new CodedError('skill/invalid-package', `Cannot read the test cases of ${manifest.id}: ${why}`);
  }
  const skill = `${PREFIX}${makeId('s', gateway.clock.nowMs(), gateway.random)}`;
  const grant = withCapabilities
    ? testGrant(manifest)
    : narrowGrant(manifest, { ...NONE, withhold: ['all'] });
  const tools = testTools(pkg, grant, skill);
  const bench = { ...gateway, registry: gateway.registry.with(tools) };
  const results: CaseResult[] = [];
  try {
    const untilMs = gateway.clock.monotonicMs() + (job.mostMs ?? Infinity);
    for (const tried of parsed.value) {
      const isLate = gateway.clock.monotonicMs() >= untilMs;
      const result = isLate ? notRun(tried, LATE) : await runCase(bench, job, tried);
      // Boundary: a cancelled case says nothing about the skill.
      if (job.signal.aborted)
        throw new CodedError('tier/cancelled', `Cannot run the cases of ${manifest.id}: it was cancelled`);
      job.onCase?.(result);
      results.push(result);
    }
  } finally {
    if (withCapabilities) await clearStorage(gateway, job.tenant, skill);
  }
  return results;
}

/** The capabilities that stay on this machine. */
function testGrant(manifest: Manifest): SkillGrant {
  const { asks } = manifest;
  const reaching = [
    ...asks.http.map((entry) => `http=${entry}`),
    ...asks.secrets.map(({ name }) => `secret=${name}`),
  ];
  return narrowGrant(manifest, { ...NONE, withhold: [...new Set(reaching)] });
}

function testTools(pkg: SkillPackage, grant: SkillGrant, skill: string): readonly Tool[] {
  const { manifest, artifact, digests, entries } = pkg;
  const read = async (path: string) => entries.get(path) ?? new Uint8Array(0);
  return skillTools({ manifest, artifact, digests, grant, trust: 'operator', modules: undefined, read }).map(
    (tool) => {
      const { skill: _, executor, ...rest } = tool;
      if (executor.kind !== 'wasm') throw new TypeError(`Cannot test ${tool.id}: it is not a module`);
      const program = { ...executor.program, skill, isRecorded: false, isAlone: true };
      return { ...rest, id: `${PREFIX}${tool.id}`, category: CATEGORY, executor: { kind: 'wasm', program } };
    },
  );
}

async function runCase(gateway: Gateway, job: CaseJob, tried: SkillCase): Promise<CaseResult> {
  const missing = tried.needs.filter((need) => !job.withCapabilities || NEVER.has(need));
  if (missing.length > 0) return notRun(tried, `it needs ${missing.join(', ')}`);
  const call = callOf(gateway, job, tried);
  const { outcome, log = null } = await invoke(gateway, call, job.signal);
  if (outcome.status === 'refused' && isOurs(outcome.code))
    return { ...notRun(tried, outcome.message), callId: call.id };
  const why = differenceOf(tried, outcome);
  const fuel = outcome.status === 'refused' ? 0 : outcome.usage.fuel;
  return { case: tried, verdict: why === null ? 'passed' : 'failed', why, callId: call.id, fuel, log };
}

function notRun(tried: SkillCase, why: string): CaseResult {
  return { case: tried, verdict: 'not-run', why, callId: null, fuel: 0, log: null };
}

/** Caused by the policies, the budgets or the store of the tester, and so not by the tool. */
function isOurs(code: string): boolean {
  return /^(?:policy|budget|store)\//.test(code);
}

function callOf({ clock, random }: Gateway, { pkg, by, tenant }: CaseJob, tried: SkillCase): ToolCall {
  const receivedAtMs = clock.nowMs();
  return {
    ...{
      id: makeId('call', receivedAtMs, random),
      principal: by,
      tenant,
      source: null,
      run: null,
      door: DOOR,
    },
    ...{ tool: `${PREFIX}${pkg.manifest.id}.${tried.tool}`, rawInput: tried.inputText },
    ...{ timeoutMs: null, receivedAtMs },
  };
}

/** The difference from what was expected; null where there is none. */
function differenceOf({ expect }: SkillCase, outcome: Outcome): string | null {
  const is = outcome.status === 'ok' ? shorten(outcome.output) : `${outcome.code}: ${outcome.message}`;
  if ('output' in expect) {
    const isSame = outcome.status === 'ok' && canonicalize(outcome.output) === canonicalize(expect.output);
    return isSame ? null : `it gave ${is}, expected ${shorten(expect.output)}`;
  }
  if (outcome.code !== expect.code) return `it gave ${is}, expected ${expect.code}`;
  if (expect.message === undefined || outcome.status === 'ok') return null;
  return outcome.message.includes(expect.message)
    ? null
    : `it gave ${is}, expected "${expect.message}" in it`;
}

function shorten(value: Json): string {
  const text = canonicalize(value);
  return text.length > MOST_SHOWN_CHARS ? `${text.slice(0, MOST_SHOWN_CHARS)}…` : text;
}

/** What a case stored is removed with it. */
async function clearStorage({ store }: Gateway, tenant: string, skill: string): Promise<void> {
  const everywhere = parsePrefix('/');
  if (!everywhere.ok) throw new TypeError('Cannot clear the storage of a test: the prefix is none');
  const prefixes = [everywhere.value];
  const space = new Space(store, { tenant, skill, grants: { read: prefixes, write: prefixes } });
  for (;;) {
    const listed = await space.list('/', { limit: 100 });
    if (!listed.ok || listed.entries.length === 0) break;
    for (const { key } of listed.entries) await space.delete(key);
  }
  space.close();
}
