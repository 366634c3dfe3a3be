/*
 * Commands that outlive the call that started them. Each is a call of `palisade.process.run` of its own, made for the
 * same principal, so the policies and budgets for commands decide on it and its receipt is written when it ends. A run
 * ends by itself, at its limits, when it is stopped, or with this gateway. Nobody but its principal reaches it here.
 */
import { setTimeout } from 'node:timers/promises';
import type { ToolCall } from '../../core/call.ts';
import { type Clock, isoTime, makeId, type Random } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import { quote } from '../../core/hostile-text.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Outcome } from '../../core/outcome.ts';
import { parsePorts, urlOfPort } from '../../core/ports.ts';
import { formatPrincipal } from '../../core/principal.ts';
import { type BackgroundActs, LOG_READ } from '../../registry/background-tools.ts';
import type { RunnerSettings } from '../../runner/settings.ts';
import { BackgroundRun, type RunCommand, type Shown } from './background-run.ts';

export type BackgroundRunsOptions = {
  readonly clock: Clock;
  readonly random: Random;
  readonly runCommand: RunCommand;
  readonly settings: () => Pick<RunnerSettings, 'ceilings'>;
  /** Whether the gateway outlives the call; otherwise nothing could stay in the background of it. */
  readonly isLasting: boolean;
};

export const BACKGROUND_LIMITS = {
  /** Of one principal at once. */
  perPrincipal: 4,
  /** Of all; each occupies one of the slots for commands. */
  inAll: 16,
  /** Runs that have ended and whose log can still be read. */
  ended: 32,
} as const;

/** How long a command is watched before its start counts: most that fail do so at once. */
const WATCH_MS = 500;
const SHOWN_COMMAND_CHARS = 200;
const NEEDS_DAEMON = 'Start a gateway that stays with `palisade serve`, then call again.';

/** Whose runs are meant. */
type Owner = Pick<ToolCall, 'principal' | 'tenant'>;

export class BackgroundRuns implements BackgroundActs {
  readonly #options: BackgroundRunsOptions;
  /** In the order of their starts. */
  readonly #runs = new Map<string, BackgroundRun>();
  #isClosed = false;

  constructor(options: BackgroundRunsOptions) {
    this.#options = options;
  }

  /** Starts a command; resolves when it runs, or has ended at once. Throws where it was refused or did not start. */
  async start(caller: ToolCall, input: JsonObject, signal: AbortSignal): Promise<Json> {
    this.#requireRoom(caller);
    const run = new BackgroundRun(this.#callFor(caller, input), shownOf(input), this.#options.runCommand);
    this.#runs.set(run.call.id, run);
    // Boundary: a caller that gives up on the start leaves nothing behind.
    const giveUp = () => void run.kill();
    signal.addEventListener('abort', giveUp, { once: true });
    const watched = new AbortController();
    const late = run.begun.then(() => setTimeout(WATCH_MS, null, watched)).catch(() => null);
    const outcome = await Promise.race([run.ended, late]);
    watched.abort();
    signal.removeEventListener('abort', giveUp);
    this.#forgetOldest();
    if (outcome !== null && isUnstarted(outcome)) {
      this.#runs.delete(run.call.id);
      throw new CodedError('tier/not-started', `Cannot start in the background: ${outcome.message}`, {
        remedy: outcome.remedy,
      });
    }
    return { ...factsOf(run), ...run.log.read(0, LOG_READ.defaultBytes) };
  }

  /** The log of a run of this owner; without an id, a list of its runs. */
  async logs(owner: Owner, { id, since = null, max_bytes: bytes = LOG_READ.defaultBytes }: JsonObject) {
    this.#requireLasting();
    if (id === undefined) return { runs: this.list(owner) };
    const run = this.#find(owner, id as string);
    return { ...factsOf(run), ...run.log.read(since as number | null, bytes as number) };
  }

  /** Ends a run of this owner, and resolves when it has ended. */
  async stop(owner: Owner, { id }: JsonObject): Promise<Json> {
    this.#requireLasting();
    const run = this.#find(owner, id as string);
    if (run.outcome === null) await run.stop();
    return factsOf(run);
  }

  /** The runs of this owner, the oldest first. */
  list(owner: Owner): readonly JsonObject[] {
    return [...this.#runs.values()].filter(({ call }) => isSameOwner(call, owner)).map(factsOf);
  }

  /** Ends all of them, and waits until none is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#runs.values()].map((run) => (run.outcome === null ? run.stop() : null)));
  }

  #find(owner: Owner, id: string): BackgroundRun {
    const run = this.#runs.get(id);
    // Boundary: a run of another principal or tenant is answered as if it did not exist.
    if (run !== undefined && isSameOwner(run.call, owner)) return run;
    throw new CodedError(
      'tier/tool-error',
      `Cannot find the background run ${quote(id)}: this gateway has none of this id that ${formatPrincipal(owner.principal)} started`,
      { remedy: 'List them with palisade.process.logs without an id, or `palisade background list`.' },
    );
  }

  #requireLasting(): void {
    if (this.#options.isLasting) return;
    const message = 'Cannot have background runs: this gateway ends with the call, expected one that stays';
    throw new CodedError('tier/not-started', message, { remedy: NEEDS_DAEMON });
  }

  /** Boundary: the number of runs is bounded, for each principal and in all. */
  #requireRoom(owner: Owner): void {
    this.#requireLasting();
    if (this.#isClosed) throw notStarted('the gateway is about to close', NEEDS_DAEMON);
    const running = [...this.#runs.values()].filter(({ outcome }) => outcome === null);
    const own = running.filter(({ call }) => isSameOwner(call, owner));
    const { perPrincipal, inAll } = BACKGROUND_LIMITS;
    const remedy = 'End one with palisade.process.stop.';
    if (own.length >= perPrincipal)
      throw notStarted(
        `${formatPrincipal(owner.principal)} has ${own.length} background runs, expected fewer than ${perPrincipal}`,
        remedy,
      );
    if (running.length >= inAll)
      throw notStarted(
        `this gateway has ${running.length} background runs, expected fewer than ${inAll}`,
        remedy,
      );
  }

  #callFor({ principal, tenant, source, run, connection }: ToolCall, input: JsonObject): ToolCall {
    const { clock, random, settings } = this.#options;
    // It is meant to stay, so it gets all the time that there is unless it asks for less.
    const { wallMs, cpuMs } = settings().ceilings;
    const limits = { wall_ms: wallMs, cpu_time_ms: cpuMs, ...(input.limits as JsonObject | undefined) };
    const receivedAtMs = clock.nowMs();
    return {
      id: makeId('call', receivedAtMs, random),
      principal,
      tenant,
      source,
      run,
      ...(connection === undefined ? {} : { connection }),
      door: 'background',
      tool: 'palisade.process.run',
      rawInput: JSON.stringify({ ...input, limits }),
      timeoutMs: null,
      receivedAtMs,
    };
  }

  #forgetOldest(): void {
    const ended = [...this.#runs.values()].filter(({ outcome }) => outcome !== null);
    for (const { call } of ended.slice(0, Math.max(0, ended.length - BACKGROUND_LIMITS.ended)))
      this.#runs.delete(call.id);
  }
}

function isSameOwner(one: Owner, other: Owner): boolean {
  return one.tenant === other.tenant && formatPrincipal(one.principal) === formatPrincipal(other.principal);
}

/** Refused, or failed before the command ran: there is nothing to read or stop. */
function isUnstarted(outcome: Outcome): outcome is Exclude<Outcome, { status: 'ok' }> {
  if (outcome.status === 'ok') return false;
  return outcome.status === 'refused' || outcome.output === null || outcome.code === 'tier/not-started';
}

/** What is told about a run besides its log. */
function factsOf({ call, command, ports, outcome }: BackgroundRun): JsonObject {
  const running = outcome === null;
  const reached = ports.map((port) => ({ ...port, url: urlOfPort(port) }));
  const facts = {
    ...{ id: call.id, command, startedAt: isoTime(call.receivedAtMs), running },
    ...(running && reached.length > 0 ? { ports: reached } : {}),
  };
  if (outcome === null) return facts;
  const message = outcome.status === 'ok' ? 'The command exited with status 0.' : outcome.message;
  return { ...facts, code: outcome.code, message };
}

function shownOf({ command, args = [], ports = [] }: JsonObject): Shown {
  const text = [command, ...(args as readonly string[])].join(' ').slice(0, SHOWN_COMMAND_CHARS);
  // Ports that cannot be read are refused by the call that runs the command.
  const read = parsePorts(ports as readonly Json[]);
  return { command: text, ports: read.ok ? read.value : [] };
}

function notStarted(why: string, remedy: string): CodedError {
  return new CodedError('tier/not-started', `Cannot start in the background: ${why}`, { remedy });
}
