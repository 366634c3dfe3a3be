/*
 * The MCP servers behind a gateway. Each runs in a process that outlives the calls of its tools and is itself a call of
 * the line, one for each principal. This module starts and ends those processes and compares what a server offers with
 * what was accepted. It starts nothing by itself: `startServer` walks the line, which is built before the servers are.
 */
import { setTimeout } from 'node:timers/promises';
import type { UpstreamRule } from '../../config/config.ts';
import type { ToolCall } from '../../core/call.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Principal } from '../../core/principal.ts';
import { requireFetched } from '../../packages/packaged-server.ts';
import { startedServer } from '../../registry/upstream-server.ts';
import type { UpstreamTools } from '../../registry/upstream-tools.ts';
import { allowListOf } from '../../runner/host-lists.ts';
import type { RunnerSettings } from '../../runner/settings.ts';
import type { RunnerDeps } from '../../runner/terms.ts';
import { pinHead } from '../../upstreams/pins.ts';
import type { OfferStatus, Requester } from './pinning.ts';
import { Session, type SessionDeps } from './session.ts';
import { Sessions } from './sessions.ts';

export type UpstreamServersOptions = Omit<SessionDeps, 'acceptedDigest'> & {
  readonly rules: readonly UpstreamRule[];
  /** The accepted tools of the servers, as the registry has them. */
  readonly tools: UpstreamTools;
  readonly settings: () => RunnerSettings;
  readonly deps: () => RunnerDeps;
  /** How long a session may live. */
  readonly lifeMs: number;
  /** A session that is unused for this long is ended. */
  readonly idleMs?: number;
  /** What a command of the operator needs to find this gateway. */
  readonly stateFlag?: string;
};

const IDLE_MS = 5 * 60_000;
/** Each occupies one of the slots for commands. */
const MAX_SESSIONS = 32;
/** The maximum time for starting a server and reading its lists. */
const CONNECT_MS = 60_000;
/** On whose behalf a long-lived gateway connects to new servers; policies can name it. */
const GATEWAY: Principal = { kind: 'service', name: 'palisade' };

export class UpstreamServers {
  readonly rules: readonly UpstreamRule[];
  readonly tools: UpstreamTools;
  readonly sessions: Sessions;
  readonly #options: UpstreamServersOptions;

  constructor(options: UpstreamServersOptions) {
    const { rules, tools, clock, lifeMs, idleMs = IDLE_MS } = options;
    this.#options = options;
    this.rules = rules;
    this.tools = tools;
    this.sessions = new Sessions({
      start: (upstream, requester) => this.#start(upstream, requester),
      monotonicMs: () => clock.monotonicMs(),
      idleMs,
      most: MAX_SESSIONS,
      lifeMs,
    });
  }

  /** Connects to a server and compares what it offers with what was accepted. Throws where it cannot be reached. */
  async connect(name: string, requester: Requester): Promise<OfferStatus> {
    const rule = this.ruleOf(name);
    try {
      requireFetched(rule, this.#options.stateFlag);
      const status = await this.sessions.use(name, requester, CONNECT_MS, async (opened) => opened.status);
      this.tools.reached(name, 'reason' in status ? status.reason : null);
      return status;
    } catch (error) {
      if (error instanceof CodedError) this.tools.reached(name, error.message);
      throw error;
    }
  }

  /** The same in a new session, so that the answer is what the server offers now. */
  async reconnect(name: string, requester: Requester): Promise<OfferStatus> {
    this.sessions.endAll(name, 'a new session was requested');
    return this.connect(name, requester);
  }

  /** Connects for a call of an unknown tool; the caller waits no longer than its own time limit. */
  async discover(name: string, { principal, tenant, timeoutMs }: ToolCall): Promise<void> {
    const connected = this.connect(name, { principal, tenant }).catch((error: unknown) => {
      if (!(error instanceof CodedError)) throw error;
    });
    const timer = new AbortController();
    const late = setTimeout(timeoutMs ?? CONNECT_MS, undefined, timer).catch(() => undefined);
    await Promise.race([connected, late]).finally(() => timer.abort());
  }

  /** Connects to every server that was never connected to, so that its tools can be listed. */
  async discoverAll(tenant: string): Promise<void> {
    const isNew = ({ name }: UpstreamRule) => pinHead(this.#options.store, name) === null;
    for (const { name } of this.rules.filter(isNew)) {
      await this.connect(name, { principal: GATEWAY, tenant }).catch((error: unknown) => {
        // A caller of one of its tools gets the reason; the attempt itself is recorded.
        if (!(error instanceof CodedError)) throw error;
      });
    }
  }

  /** The configuration of a server; refuses a name that is not configured. */
  ruleOf(name: string): UpstreamRule {
    const rule = this.rules.find((each) => each.name === name);
    if (rule !== undefined) return rule;
    throw new CodedError(
      'upstream/unknown',
      `Cannot find the upstream server "${name}": it is not configured`,
    );
  }

  async close(): Promise<void> {
    await this.sessions.close();
  }

  #start(upstream: string, requester: Requester): Session {
    const rule = this.ruleOf(upstream);
    const { settings, deps, tools } = this.#options;
    return new Session({
      ...this.#options,
      rule,
      requester,
      server: startedServer(rule, settings(), deps()),
      hosts: allowListOf(rule.allowHosts, `upstream "${upstream}" allow_hosts`),
      acceptedDigest: () => tools.accepted(upstream),
      onChanged: () => this.sessions.endAll(upstream, 'it offers other tools than those that were accepted'),
    });
  }
}
