/*
 * One session with one upstream server, for one principal: a run of its command by the line, like any other call, with a
 * receipt of its own, and the talk with it meanwhile. The server is hostile from its first word. When the session has
 * ended, for whatever reason, nothing of it runs any more and whoever waited for an answer has been told.
 */
import type { UpstreamRule } from '../../config/config.ts';
import type { ToolCall } from '../../core/call.ts';
import { CodedError } from '../../core/coded-error.ts';
import { inert } from '../../core/hostile-text.ts';
import { makeId } from '../../core/id.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Tool } from '../../core/tool.ts';
import type { AllowList } from '../../egress/allowlist.ts';
import type { Feed } from '../../tiers/child/child.ts';
import type { Tier } from '../../tiers/tier.ts';
import type { Ended } from '../ending.ts';
import type { Gateway } from '../gateway.ts';
import { invoke } from '../invoke.ts';
import { greet, type Speech, spoken } from './greet.ts';
import { listAll } from './list.ts';
import { type Asked, Peer } from './peer.ts';
import { type Asker, compareWithPin, type Stand, withAcceptedResources } from './pinning.ts';

export type SessionTerms = {
  readonly gateway: Gateway;
  readonly rule: UpstreamRule;
  readonly asker: Asker;
  /** The server as a tool that can be started. */
  readonly server: Tool;
  readonly hosts: AllowList;
  /** Told when the server offers other tools than those that were accepted. */
  readonly onChanged: () => void;
};

/** How long a server that was told to end may take. */
const FAREWELL_MS = 1_000;
/** How long the first words may take. */
const GREETING_MS = 30_000;
/** How long a server that was told to stop may take to say that it listens. */
const OBEY_MS = 2_000;
/** A server that changes its tools all the time is not asked for them all the time. */
const MOST_LISTS = 16;
/** What a server says when its definitions are other ones. */
const CHANGES: readonly string[] = ['notifications/tools/list_changed', 'notifications/prompts/list_changed'];

export class Session {
  readonly callId: string;
  readonly openedMs: number;
  /** Settles when nothing of it runs any more. */
  readonly ended: Promise<void>;
  readonly #terms: SessionTerms;
  readonly #stop = new AbortController();
  readonly #policySet: string | null;
  readonly #peer: Peer;
  /** Settles when the server runs, behind walls that are proved. */
  readonly #fed: Promise<void>;
  #feed: Feed | null = null;
  #speech: Speech | null = null;
  #lists = 0;
  #offered: string | null = null;
  #why: string | null = null;
  #outcome: Ended['outcome'] | null = null;

  constructor(terms: SessionTerms) {
    const { gateway } = terms;
    this.#terms = terms;
    this.#policySet = gateway.policy.setDigest;
    this.#peer = new Peer({
      write: (bytes) => this.#feed?.write(bytes) ?? 0,
      onNotification: (method) => {
        if (CHANGES.includes(method)) void this.#lookAgain();
      },
      onBroken: (why) => this.end(why, 0),
    });
    const receivedAtMs = gateway.clock.nowMs();
    this.callId = makeId('call', receivedAtMs, gateway.random);
    this.openedMs = gateway.clock.monotonicMs();
    let onFed: () => void = () => undefined;
    this.#fed = new Promise((resolve) => {
      onFed = resolve;
    });
    this.ended = this.#run(receivedAtMs, onFed);
  }

  get era(): string {
    return this.#speech?.era ?? '';
  }

  /** The digest of the tools that it lists; null before it has. */
  get offered(): string | null {
    return this.#offered;
  }

  get isOver(): boolean {
    return this.#why !== null;
  }

  /** Whether other policies than those that let it start are in force by now, or another set is accepted. */
  get isOutdated(): boolean {
    const { gateway, rule } = this.#terms;
    if (gateway.policy.setDigest !== this.#policySet) return true;
    const accepted = gateway.upstreams.tools.accepted(rule.name);
    return this.#offered !== null && accepted !== null && accepted !== this.#offered;
  }

  /** Greets the server and compares its tools with those that were accepted. Throws where it does not get that far. */
  async open(): Promise<Stand> {
    const timer = setTimeout(() => this.end(`it said nothing for ${GREETING_MS} ms`, 0), GREETING_MS);
    try {
      await Promise.race([this.#fed, this.ended]);
      if (this.isOver) throw new CodedError('tier/upstream-failed', 'it ended before it was greeted');
      this.#speech = await greet(this.#peer, this.#terms.gateway.version);
      return await this.#list(this.#speech);
    } catch (error) {
      // What ended the command says more than that it no longer answers.
      if (this.isOver) await this.ended;
      this.end(error instanceof Error ? error.message : 'it broke', 0);
      throw new CodedError('tier/upstream-failed', this.reasonFor(error));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Asks the server for something; `asked.onSent` is told the number by which that can be taken back. */
  ask(method: string, params: JsonObject, asked: Asked): Promise<JsonObject> {
    if (this.#speech === null) throw new TypeError('Cannot ask the server: it was not greeted');
    return this.#peer.request(method, spoken(this.#speech, params), asked);
  }

  /** Takes a call back. A server that no longer listens after that is ended. */
  takeBack(id: number, reason: string): void {
    this.#peer.forget(id);
    if (this.isOver || this.#speech === null) return;
    this.#peer.notify('notifications/cancelled', { requestId: id, reason });
    const timer = setTimeout(() => this.end('it did not stop when it was told to', 0), OBEY_MS);
    this.#peer
      .request(this.#speech.ping, spoken(this.#speech, {}))
      .catch(() => undefined)
      .finally(() => clearTimeout(timer));
  }

  /** Ends it: its input is closed, and what is left after a while is killed. */
  end(why: string, patienceMs = FAREWELL_MS): void {
    if (this.#why !== null) return;
    this.#why = why;
    this.#peer.end(why);
    this.#feed?.end();
    if (patienceMs === 0 || this.#feed === null) this.#stop.abort();
    else {
      const timer = setTimeout(() => this.#stop.abort(), patienceMs);
      void this.ended.then(() => clearTimeout(timer));
    }
  }

  /** Why there is no answer, for whoever waited for one: how the command ended, where it did. */
  reasonFor(error: unknown): string {
    const outcome = this.#outcome;
    if (outcome === null) return error instanceof Error ? error.message : (this.#why ?? 'it broke');
    const said = lastLine(outcome.status === 'refused' ? null : outcome.output);
    // Where we ended it, why we did says more than that it was cancelled.
    const ours = outcome.status === 'failed' && outcome.code === 'tier/cancelled' ? this.#why : null;
    const how = outcome.status === 'ok' ? 'it ended by itself' : (ours ?? outcome.message);
    return `${how}${said === '' ? '' : `; it said "${said}"`}`;
  }

  async #run(receivedAtMs: number, onFed: () => void): Promise<void> {
    const { gateway, rule, asker, server, hosts } = this.#terms;
    const call: ToolCall = {
      ...{ id: this.callId, ...asker, run: null, door: 'upstream', tool: server.id },
      ...{ rawInput: '{}', timeoutMs: null, receivedAtMs },
    };
    const tier = gateway.tiers[rule.tier];
    const feed = (stdin: Feed) => {
      this.#feed = stdin;
      onFed();
    };
    const talk = { feed, hosts };
    const talking: Tier | undefined = tier && {
      ...tier,
      run: (grant, limits, ties) => tier.run(grant, limits, { ...ties, talk }),
    };
    const here = {
      ...gateway,
      registry: gateway.registry.with([server]),
      tiers: { ...gateway.tiers, ...(talking === undefined ? {} : { [rule.tier]: talking }) },
    };
    const { outcome } = await invoke(here, call, this.#stop.signal, (stream, chunk) => {
      if (stream === 'stdout') this.#peer.take(chunk);
    });
    this.#outcome = outcome;
    this.end(outcome.status === 'ok' ? 'it ended' : outcome.message, 0);
  }

  async #list(speech: Speech): Promise<Stand> {
    const { gateway, rule, asker } = this.#terms;
    this.#lists += 1;
    const listed = await listAll(this.#peer, speech);
    // Boundary: a process that has heard somebody may list what it heard; only what it had before goes to others.
    const read = this.#lists === 1 ? listed : withAcceptedResources(gateway, rule.name, listed);
    this.#offered = read.ok ? read.set.digest : null;
    const stand = await compareWithPin(gateway, rule, read, asker);
    if ('why' in stand) this.#terms.onChanged();
    return stand;
  }

  /** The server says that its tools changed: they are looked at once more. */
  async #lookAgain(): Promise<void> {
    if (this.#speech === null || this.isOver) return;
    if (this.#lists >= MOST_LISTS) this.end('it changes its tools all the time', 0);
    else await this.#list(this.#speech).catch(() => undefined);
  }
}

const MOST_CHARS = 300;

/** The last line on standard error that speaks of an error, or the last one of all. */
function lastLine(output: unknown): string {
  const text = typeof output === 'object' && output !== null && 'stderr' in output ? output.stderr : '';
  const lines = typeof text === 'string' ? text.trimEnd().split('\n') : [];
  const line = lines.findLast((each) => /error|fatal|cannot/i.test(each)) ?? lines.at(-1) ?? '';
  return inert(line.trim().slice(0, MOST_CHARS));
}
