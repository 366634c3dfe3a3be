/**
 * The test cases of a package, each a call like every other: the policies judge it as a call of the tester, budgets are
 * charged, and it has a receipt. Its tools are named `test.…` and exist only while the cases run. Without capabilities
 * every request of a guest is denied; with them it has storage and channels of a skill that no one else uses. It reaches
 * no host and gets no secret either way: the requests of a case that needs them are answered by the fixtures of the
 * package, where they may be used and it has some.
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
import type { WasmProgram } from '../../core/wasm.ts';
import { skillTools } from '../../registry/skill-tool.ts';
import { parseCases, type SkillCase } from '../../skills/audit/cases.ts';
import { withholdingsOf } from '../../skills/capabilities/kinds.ts';
import { narrowGrant, type SkillGrant } from '../../skills/grant.ts';
import { answersFrom, parseFixtures } from '../../skills/http-fixtures.ts';
import type { Manifest } from '../../skills/manifest/manifest.ts';
import { FIXTURES_FILE, type SkillPackage } from '../../skills/package/skill-package.ts';
import { Space } from '../../storage/space.ts';
import type { Ended } from '../finish.ts';
import type { Gateway } from '../gateway.ts';
import { invoke } from '../invoke.ts';
import type { Acting } from './skill-acts.ts';

export type CaseJob = Acting & {
  readonly pkg: SkillPackage;
  readonly withCapabilities: boolean;
  /** Whether the package's fixtures answer the requests of cases that need http. */
  readonly withFixtures?: boolean;
  readonly signal: AbortSignal;
  /** No case starts after this many milliseconds; left out: all of them start. */
  readonly mostMs?: number;
  readonly onCase?: (result: CaseResult) => void;
  /** The lines that guests log, as they come. */
  readonly onLog?: (lines: string) => void;
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
/** What no case gets, but fixtures can stand for: another machine, and a secret that is only sent to it. */
/** What a case is given by fixtures. */
export const BY_FIXTURES: ReadonlySet<string> = new Set(['http', 'secret']);
const NONE = { limits: {}, config: {} } as const;
const LATE = 'the cases before it took too long';
/** The longest text of a difference that is displayed. */
const MOST_SHOWN_CHARS = 400;

/** Runs every case in order; a package may have none. Throws where its cases cannot be read, or on cancellation. */
export async function runCases(gateway: Gateway, job: CaseJob): Promise<readonly CaseResult[]> {
  const { pkg } = job;
  const { manifest } = pkg;
  const cases = readCases(pkg);
  const bench = openTestBench(gateway, job);
  const results: CaseResult[] = [];
  try {
    const untilMs = gateway.clock.monotonicMs() + (job.mostMs ?? Infinity);
    for (const tried of cases) {
      const isLate = gateway.clock.monotonicMs() >= untilMs;
      const result = isLate ? notRun(tried, LATE) : await runCase(bench, job, tried);
      // Boundary: a cancelled case says nothing about the skill.
      if (job.signal.aborted)
        throw new CodedError('tier/cancelled', `Cannot run the cases of ${manifest.id}: it was cancelled`);
      job.onCase?.(result);
      results.push(result);
    }
  } finally {
    await bench.close();
  }
  return results;
}

export type TriedCall = Pick<Ended, 'callId' | 'outcome' | 'usage'> & {
  readonly log: CallLog | null;
  /** The requests that no fixture answered. */
  readonly misses: readonly string[];
};

/** Calls one tool as a case that needs all that a test can give it would. */
export async function tryTool(
  gateway: Gateway,
  job: CaseJob,
  tried: Pick<SkillCase, 'tool' | 'inputText'>,
): Promise<TriedCall> {
  const bench = openTestBench(gateway, job);
  try {
    return await bench.call(tried, true);
  } finally {
    await bench.close();
  }
}

/** Throws where a test case or a fixture of the package cannot be read, with the place of the first. */
export function demandReadable(pkg: SkillPackage): void {
  readCases(pkg);
  readFixtures(pkg);
}

function readCases(pkg: SkillPackage): readonly SkillCase[] {
  const parsed = parseCases(pkg.entries, pkg.manifest);
  if (parsed.ok) return parsed.value;
  const { id } = pkg.manifest;
  throw unreadable(`the test cases of ${id}`, formatProblem(parsed.problem, parsed.problem.file));
}

function readFixtures({ entries, manifest }: SkillPackage) {
  const parsed = parseFixtures(entries);
  if (parsed.ok) return parsed.value;
  throw unreadable(`the fixtures of ${manifest.id}`, formatProblem(parsed.problem, FIXTURES_FILE));
}

function unreadable(what: string, why: string): CodedError {
  return new CodedError('skill/invalid-package', `Cannot read ${what}: ${why}`);
}

/** The tools of a package under names of their own, as long as cases run. */
type TestBench = {
  readonly hasFixtures: boolean;
  readonly call: (tried: Pick<SkillCase, 'tool' | 'inputText'>, mayRequest: boolean) => Promise<TriedCall>;
  /** Removes what the cases stored. */
  readonly close: () => Promise<void>;
};

function openTestBench(gateway: Gateway, job: CaseJob): TestBench {
  const { pkg, withCapabilities, onLog } = job;
  const { manifest } = pkg;
  const skill = `${PREFIX}${makeId('s', gateway.clock.nowMs(), gateway.random)}`;
  const fixtures = job.withFixtures === true ? readFixtures(pkg) : null;
  const answers = fixtures === null ? null : answersFrom(fixtures);
  const lineWith = (mayRequest: boolean) => {
    const grant = testGrant(manifest, { withCapabilities, mayRequest });
    const answerRequest = mayRequest && answers !== null ? { answerRequest: answers.answer } : {};
    const tools = testTools(pkg, grant, { skill, isRecorded: false, isAlone: true, ...answerRequest });
    return { ...gateway, registry: gateway.registry.with(tools) };
  };
  const [closed, open] = [lineWith(false), answers === null ? null : lineWith(true)];
  const listeners =
    onLog === undefined ? {} : { onOutput: (_: string, text: Uint8Array) => onLog(textOf(text)) };
  return {
    hasFixtures: answers !== null,
    call: async (tried, mayRequest) => {
      const line = mayRequest && open !== null ? open : closed;
      const call = callOf(line, job, tried);
      const { callId, outcome, usage, log = null } = await invoke(line, call, job.signal, listeners);
      return { callId, outcome, usage, log, misses: answers?.takeMisses() ?? [] };
    },
    close: async () => {
      if (withCapabilities) await clearStorage(gateway, job.tenant, skill);
    },
  };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

type TestTerms = Pick<CaseJob, 'withCapabilities'> & { readonly mayRequest: boolean };

/** What stays on this machine, and with fixtures what they stand for; a secret that can be read never is. */
function testGrant(manifest: Manifest, { withCapabilities, mayRequest }: TestTerms): SkillGrant {
  const revealed = manifest.asks.secrets
    .filter(({ mayReveal }) => mayReveal)
    .map(({ name }) => `secret=${name}`);
  const withhold = withholdingsOf(manifest).filter((word) => {
    const isByFixtures = /^(?:http|secret|reveal)=/.test(word);
    if (!isByFixtures) return !withCapabilities;
    return !mayRequest || revealed.includes(word);
  });
  return narrowGrant(manifest, { ...NONE, withhold });
}

type TestProgram = Pick<WasmProgram, 'skill' | 'isRecorded' | 'isAlone' | 'answerRequest'>;

function testTools(pkg: SkillPackage, grant: SkillGrant, test: TestProgram): readonly Tool[] {
  const { manifest, artifact, digests, entries } = pkg;
  const read = async (path: string) => entries.get(path) ?? new Uint8Array(0);
  return skillTools({ manifest, artifact, digests, grant, trust: 'operator', modules: undefined, read }).map(
    (tool) => {
      const { skill: _, executor, ...rest } = tool;
      if (executor.kind !== 'wasm') throw new TypeError(`Cannot test ${tool.id}: it is not a module`);
      const program = { ...executor.program, ...test };
      return { ...rest, id: `${PREFIX}${tool.id}`, category: CATEGORY, executor: { kind: 'wasm', program } };
    },
  );
}

async function runCase(bench: TestBench, job: CaseJob, tried: SkillCase): Promise<CaseResult> {
  const isGiven = (need: string) => (BY_FIXTURES.has(need) ? bench.hasFixtures : job.withCapabilities);
  const missing = tried.needs.filter((need) => !isGiven(need));
  if (missing.length > 0) return notRun(tried, `it needs ${missing.join(', ')}`);
  const mayRequest = tried.needs.some((need) => BY_FIXTURES.has(need));
  const { callId, outcome, log, misses } = await bench.call(tried, mayRequest);
  if (outcome.status === 'refused' && isOurs(outcome.code))
    return { ...notRun(tried, outcome.message), callId };
  // What was not answered says more than what the tool made of it.
  const why = misses[0] ?? differenceOf(tried, outcome);
  const fuel = outcome.status === 'refused' ? 0 : outcome.usage.fuel;
  return { case: tried, verdict: why === null ? 'passed' : 'failed', why, callId, fuel, log };
}

function notRun(tried: SkillCase, why: string): CaseResult {
  return { case: tried, verdict: 'not-run', why, callId: null, fuel: 0, log: null };
}

/** Caused by the policies, the budgets or the store of the tester, and so not by the tool. */
function isOurs(code: string): boolean {
  return /^(?:policy|budget|store)\//.test(code);
}

function callOf(
  { clock, random }: Pick<Gateway, 'clock' | 'random'>,
  { pkg, by, tenant }: CaseJob,
  tried: Pick<SkillCase, 'tool' | 'inputText'>,
): ToolCall {
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
