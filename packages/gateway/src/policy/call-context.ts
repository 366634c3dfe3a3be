import type { CheckedCall } from '../core/checked-call.ts';
import { isoTime } from '../core/clock.ts';
import type { PreparedProcess } from '../core/process.ts';
import type { CedarValueJson, TypeAndId } from './cedar.ts';
import { inputToCedar } from './input-type.ts';
import type { Reads } from './reads.ts';
import type { CallAttribute } from './schema.ts';
import type { ToolView } from './tool-view.ts';

/** All that is known about a call when it is judged. */
export type Told = {
  readonly checked: CheckedCall;
  readonly view: ToolView;
  readonly budgetLeft: object;
  readonly nowMs: number;
  readonly approved: boolean;
  readonly approver: TypeAndId | null;
};

type Write = (told: Told) => CedarValueJson | null;

/** How each attribute is written; null is one that is not there. */
const WRITERS: Readonly<Record<CallAttribute, Write>> = {
  input: ({ checked, view }) => inputToCedar(view.plan, checked.input),
  inputText: ({ checked }) => checked.inputText,
  run: ({ checked }) => checked.call.run ?? '',
  door: ({ checked }) => checked.call.door,
  tier: ({ checked }) => checked.tier,
  capabilities: ({ checked }) => [...checked.tool.capabilities],
  hosts: ({ checked }) => [...(checked.process?.facts.hosts ?? checked.tool.hosts(checked.input))],
  paths: ({ checked }) => [...(checked.process?.facts.paths ?? checked.tool.paths(checked.input))],
  process: ({ checked }) => (checked.process === null ? null : processToCedar(checked.process)),
  now: ({ nowMs }) => momentOf(nowMs),
  hour: ({ nowMs }) => hourOf(nowMs),
  weekday: ({ nowMs }) => weekdayOf(nowMs),
  budgetLeft: ({ budgetLeft }) => toLongs(budgetLeft),
  limits: ({ checked }) => toLongs(checked.limits),
  approved: ({ approved }) => approved,
  approvedBy: ({ approver }) => (approver === null ? null : { __entity: approver }),
};

function processToCedar({ terms, facts }: PreparedProcess): CedarValueJson {
  const { executable, executableSha256, argv, workspace, cwd, egress, egressHosts, secrets } = terms;
  return {
    executable,
    executableSha256,
    kind: facts.kind,
    // A set has no order: policies that need it match the words as one text.
    arguments: [...new Set(argv.slice(1))],
    commandLine: argv.join(' '),
    workspace,
    cwd,
    egress,
    egressHosts: [...egressHosts],
    secrets: [...secrets],
  };
}

/** What can be impossible to write, which refuses the call. */
const DOUBTFUL: readonly CallAttribute[] = ['input', 'hosts', 'paths'];

/** The attributes of a call that are read. Throws where the call cannot be told whole, whatever is read of it. */
export function callContext(told: Told, reads: Reads): Record<string, CedarValueJson> {
  demandTime(told.nowMs);
  const context: Record<string, CedarValueJson> = {};
  for (const name of reads) {
    const value = WRITERS[name](told);
    if (value !== null) context[name] = value;
  }
  // Boundary: an input of the wrong type or a tool that cannot say what it touches is denied, also where no policy asks.
  for (const name of DOUBTFUL) if (!reads.has(name)) WRITERS[name](told);
  return context;
}

/** The time as every action is told it. */
export function timeContext(nowMs: number): Record<string, CedarValueJson> {
  demandTime(nowMs);
  return { now: momentOf(nowMs), hour: hourOf(nowMs), weekday: weekdayOf(nowMs) };
}

/** Cedar's datetime has years of four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

function demandTime(nowMs: number): void {
  if (nowMs >= FIRST_MS && nowMs <= LAST_MS) return;
  throw new TypeError(
    `Cannot tell the time to the policies: it is "${nowMs}", expected a year of four digits`,
  );
}

function momentOf(nowMs: number): CedarValueJson {
  return { __extn: { fn: 'datetime', arg: isoTime(nowMs) } };
}

function hourOf(nowMs: number): number {
  return new Date(nowMs).getUTCHours();
}

function weekdayOf(nowMs: number): number {
  return new Date(nowMs).getUTCDay() || 7;
}

/** Cedar has whole numbers only; "without end" becomes the largest number that JSON keeps exactly. */
function toLongs(units: object): Record<string, number> {
  const longs: Record<string, number> = {};
  for (const [unit, value] of Object.entries(units)) {
    longs[unit] = Math.min(Math.max(Math.floor(Number(value)) || 0, 0), Number.MAX_SAFE_INTEGER);
  }
  return longs;
}
