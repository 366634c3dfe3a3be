/*
 * The MCP servers behind a gateway. Their tools are called like all others, through the line; what is special is where they
 * run: in a process that outlives the call, which is itself a call of the line. This room keeps those processes, and
 * knows what was accepted of each server.
 */
import { setTimeout } from 'node:timers/promises';
import type { Config, UpstreamRule } from '../../config/config.ts';
import type { ToolCall } from '../../core/call.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { TierName } from '../../core/tool.ts';
import { spend } from '../../policy/grant.ts';
import { startedServer } from '../../registry/upstream-server.ts';
import { UpstreamTools } from '../../registry/upstream-tools.ts';
import { allowListOf } from '../../runner/host-lists.ts';
import type { RunnerSettings } from '../../runner/settings.ts';
import type { RunnerDeps } from '../../runner/terms.ts';
import type { Tier } from '../../tiers/tier.ts';
import type { Gateway, Records } from '../gateway.ts';
import { callUpstream } from './call.ts';
import { Ears } from './ears.ts';
import type { Asker, Stand } from './pinning.ts';
import { Session } from './session.ts';
import { Sessions } from './sessions.ts';

export type UpstreamRoomOptions = {
  readonly records: Pick<Records, 'store' | 'clock'>;
  readonly config: Pick<Config, 'ceilings'>;
  readonly rules: readonly UpstreamRule[];
  readonly settings: () => RunnerSettings;
  readonly deps: () => RunnerDeps;
  /** A session that nobody needed for so long is ended. */
  readonly idleMs?: number;
};

const IDLE_MS = 5 * 60_000;
/** Each holds one of the places for commands. */
const MOST_SESSIONS = 32;
/** What a greeting may need at most. */
const MEETING_MS = 60_000;

export class UpstreamRoom {
  readonly rules: readonly UpstreamRule[];
  readonly tools: UpstreamTools;
  readonly sessions: Sessions;
  /** Doors that listen to calls while they run. */
  readonly ears = new Ears();
  readonly #options: UpstreamRoomOptions;
  #gateway: Gateway | null = null;

  constructor(options: UpstreamRoomOptions) {
    const { records, config, rules, idleMs = IDLE_MS } = options;
    this.#options = options;
    this.rules = rules;
    this.tools = new UpstreamTools({ reader: records.store, rules });
    this.sessions = new Sessions({
      start: (upstream, asker) => this.#start(upstream, asker),
      monotonicMs: () => records.clock.monotonicMs(),
      ...{ idleMs, most: MOST_SESSIONS, lifeMs: config.ceilings.wallMs },
    });
  }

  /** The gateway whose line the sessions go along, once it is built. */
  serve(gateway: Gateway): void {
    this.#gateway = gateway;
  }

  /** The tiers, with calls of upstream tools going to their sessions and everything else as before. */
  over(tiers: Readonly<Partial<Record<TierName, Tier>>>): Readonly<Partial<Record<TierName, Tier>>> {
    if (this.rules.length === 0) return tiers;
    const { b, c } = tiers;
    return { ...tiers, ...(b && { b: this.#tierOver(b) }), ...(c && { c: this.#tierOver(c) }) };
  }

  /** Talks to a server: what it offers is compared with what was accepted. Throws where it cannot be talked to. */
  async meet(name: string, asker: Asker): Promise<Stand> {
    this.ruleOf(name);
    return this.sessions.use(name, asker, MEETING_MS, async ({ stand }) => stand);
  }

  /** The same in a session of its own, for whoever wants to know what is offered now. */
  async look(name: string, asker: Asker): Promise<Stand> {
    this.sessions.endAll(name, 'it is looked at anew');
    return this.meet(name, asker);
  }

  /** For a call of a tool that nobody knows yet; whether it came to know it, the registry sees. */
  async meetFor(name: string, { principal, tenant, timeoutMs }: ToolCall): Promise<void> {
    const met = this.meet(name, { principal, tenant }).catch((error: unknown) => {
      if (!(error instanceof CodedError)) throw error;
    });
    const timer = new AbortController();
    const { signal } = timer;
    // Whoever has less time than a greeting may take is not kept by it.
    const late = setTimeout(timeoutMs ?? MEETING_MS, undefined, { signal }).catch(() => undefined);
    await Promise.race([met, late]).finally(() => timer.abort());
  }

  ruleOf(name: string): UpstreamRule {
    const rule = this.rules.find((each) => each.name === name);
    if (rule !== undefined) return rule;
    throw new CodedError(
      'upstream/unknown',
      `Cannot find the upstream server "${name}": there is none of that name`,
    );
  }

  async close(): Promise<void> {
    await this.sessions.close();
  }

  #start(upstream: string, asker: Asker): Session {
    const gateway = this.#gateway;
    if (gateway === null) throw new TypeError('Cannot start a session: the gateway is not built yet');
    const rule = this.ruleOf(upstream);
    const { settings, deps } = this.#options;
    return new Session({
      ...{ gateway, rule, asker, server: startedServer(rule, settings(), deps()) },
      hosts: allowListOf(rule.allowHosts, `upstream "${upstream}" allow_hosts`),
      onChanged: () => this.sessions.endAll(upstream, 'it offers other tools than those that were accepted'),
    });
  }

  #tierOver(tier: Tier): Tier {
    const kit = { sessions: this.sessions, clock: this.#options.records.clock, ears: this.ears };
    return {
      ...tier,
      run: async (grant, limits, ties) => {
        const { executor } = grant.call.tool;
        if (executor.kind !== 'upstream') return tier.run(grant, limits, ties);
        const { upstream } = executor;
        return callUpstream(kit, { checked: spend(grant), upstream, executor, limits }, ties);
      },
    };
  }
}
