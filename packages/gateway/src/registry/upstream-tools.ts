/**
 * The tools of upstream servers, as they were accepted. What is listed and called is the pinned set, never a server's
 * current offer; a server in quarantine, or one whose command was changed, has no tools. One row shows whether anything
 * changed, so that a lookup takes microseconds.
 */
import type { UpstreamRule } from '../config/config.ts';
import type { Digest } from '../core/digest.ts';
import { refuse } from '../core/outcome.ts';
import type { Tool, UpstreamMethod } from '../core/tool.ts';
import type { Reader } from '../store/transaction.ts';
import type { Listed } from '../upstreams/listed.ts';
import { pinEpoch, pinHead, pinOf, ruleDigest } from '../upstreams/pins.ts';
import type { FoundTool } from './skill-tools.ts';
import { serverId, serverTool } from './upstream-server.ts';
import { type MissingServer, STATUS_ID, statusTool } from './upstream-status.ts';
import { methodId, upstreamMethods, upstreamTools } from './upstream-tool.ts';

type Loaded = {
  readonly revision: number;
  readonly tools: ReadonlyMap<string, Tool>;
  /** What it does beside running tools; not listed. */
  readonly methods: ReadonlyMap<string, Tool>;
  readonly listed: Listed;
  /** Null where nothing was ever accepted. */
  readonly digest: Digest | null;
  /** The ids of tools of a first offer that is held; none can be called. */
  readonly held: ReadonlySet<string>;
};

/** What a server offers beside its tools. */
export type UpstreamOffer = {
  readonly rule: UpstreamRule;
  readonly listed: Listed;
  /** The tool for a method of the server; null where it has none. */
  readonly method: (method: UpstreamMethod) => Tool | null;
};

type UpstreamToolsOptions = {
  readonly reader: Reader;
  readonly rules: readonly UpstreamRule[];
};

export class UpstreamTools {
  readonly #reader: Reader;
  readonly #rules: readonly (UpstreamRule & { readonly digest: string })[];
  readonly #servers: ReadonlyMap<string, Tool>;
  readonly #loaded = new Map<string, Loaded>();
  /** Why servers could not be connected to when that was last tried. */
  readonly #unreached = new Map<string, string>();
  #reaches = 0;

  constructor({ reader, rules }: UpstreamToolsOptions) {
    this.#reader = reader;
    this.#rules = rules.map((rule) => ({ ...rule, digest: ruleDigest(rule) }));
    this.#servers = new Map(rules.map((rule) => [serverId(rule.name), serverTool(rule)]));
  }

  /** The current tool of that id, or why it may not be called; undefined where no server has one. */
  find(toolId: string): FoundTool | undefined {
    const server = this.#servers.get(toolId);
    if (server !== undefined) return { tool: server };
    const status = toolId === STATUS_ID ? this.#status() : null;
    if (status !== null) return { tool: status };
    for (const rule of this.#rules) {
      const tool = this.#toolOf(rule, toolId);
      if (tool === undefined) continue;
      const why = this.#whyNot(this.#reader, rule);
      return why === null ? { tool } : { refused: quarantined(toolId, rule.name, why) };
    }
    const held = this.#rules.find((rule) => this.#load(rule)?.held.has(toolId) === true);
    return held && { refused: quarantined(toolId, held.name, HELD) };
  }

  /** Callable tools after this id, in the order of their ids. */
  page(after: string | null, limit: number): readonly Tool[] {
    const all = new Map<string, Tool>();
    const status = this.#status();
    if (status !== null) all.set(STATUS_ID, status);
    for (const rule of this.#rules) {
      if (this.#whyNot(this.#reader, rule) !== null) continue;
      // If two servers have a tool of the same id, the server that is configured first wins.
      for (const [id, tool] of this.#load(rule)?.tools ?? []) if (!all.has(id)) all.set(id, tool);
    }
    return [...all.values()]
      .filter(({ id }) => after === null || id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit);
  }

  /** What each callable server offers beside its tools, in the order of the configuration. */
  offers(): readonly UpstreamOffer[] {
    return this.#rules.flatMap((rule) => {
      const loaded = this.#whyNot(this.#reader, rule) === null ? this.#load(rule) : null;
      if (loaded === null) return [];
      const { listed, methods } = loaded;
      return [{ rule, listed, method: (method) => methods.get(methodId(rule.name, method)) ?? null }];
    });
  }

  /** The digest of a server's last accepted set; null where nothing was accepted. */
  accepted(name: string): Digest | null {
    const rule = this.#rules.find((each) => each.name === name);
    return rule === undefined ? null : (this.#load(rule)?.digest ?? null);
  }

  /** Changes with every pin, and when a server could not be connected to or was. */
  version(): string {
    return this.#rules.length === 0 ? '0' : `${pinEpoch(this.#reader)}-${this.#reaches}`;
  }

  /** Notes why a server could not be connected to; null: it was. */
  reached(name: string, problem: string | null): void {
    if ((this.#unreached.get(name) ?? null) === problem) return;
    if (problem === null) this.#unreached.delete(name);
    else this.#unreached.set(name, problem);
    this.#reaches += 1;
  }

  /** The servers of which there are no tools, and why. */
  missing(): readonly MissingServer[] {
    return this.#rules.flatMap((rule): MissingServer | [] => {
      const { name } = rule;
      if (!this.#isNew(name)) {
        const why = this.#whyNot(this.#reader, rule);
        if (why === null) return [];
        return { name, why: `it is in quarantine, ${why}`, detail: null, remedy: reviewOf(name) };
      }
      const detail = this.#unreached.get(name) ?? null;
      const why =
        detail === null ? 'it is being started' : 'it could not be started, or its tools not be read';
      return { name, why, detail, remedy: `Try again with \`palisade upstream refresh ${name}\`.` };
    });
  }

  #status(): Tool | null {
    return statusTool(this.missing());
  }

  /** Boundary: whether a tool that was found earlier is still accepted, in this transaction. */
  holds(reader: Reader, tool: Tool): boolean {
    const { executor } = tool;
    if (tool.id === STATUS_ID) return this.#status() === tool;
    if (executor.kind !== 'upstream') return this.#servers.get(tool.id) === tool;
    const rule = this.#rules.find(({ name }) => name === executor.upstream);
    if (rule === undefined || this.#whyNot(reader, rule) !== null) return false;
    const loaded = this.#loaded.get(rule.name);
    if (loaded === undefined || loaded.revision !== pinHead(reader, rule.name)?.revision) return false;
    return loaded.tools.get(tool.id) === tool || loaded.methods.get(tool.id) === tool;
  }

  /** The server that a tool of this id could belong to, if it was never connected to. */
  undiscovered(toolId: string): string | null {
    const rule = this.#rules.find(({ name, prefix }) => toolId.startsWith(prefix) && this.#isNew(name));
    return rule?.name ?? null;
  }

  #toolOf(rule: UpstreamRule, toolId: string): Tool | undefined {
    if (!toolId.startsWith(rule.prefix) && !toolId.startsWith(serverId(rule.name))) return undefined;
    const loaded = this.#load(rule);
    return loaded?.tools.get(toolId) ?? loaded?.methods.get(toolId);
  }

  #isNew(name: string): boolean {
    return pinHead(this.#reader, name) === null;
  }

  #load(rule: UpstreamRule): Loaded | null {
    const head = pinHead(this.#reader, rule.name);
    if (head === null) return null;
    const known = this.#loaded.get(rule.name);
    if (known?.revision === head.revision) return known;
    const pin = pinOf(this.#reader, rule.name);
    if (pin === null) return null;
    const { revision, accepted, acceptedBy, offered } = pin;
    const isHeld = acceptedBy === null && offered !== null;
    const [tools, methods] = [upstreamTools(rule, accepted), upstreamMethods(rule, accepted)];
    const loaded = {
      revision,
      tools,
      methods,
      listed: accepted.listed,
      digest: acceptedBy === null ? null : accepted.digest,
      held: new Set(isHeld ? upstreamTools(rule, offered).keys() : []),
    };
    this.#loaded.set(rule.name, loaded);
    return loaded;
  }

  /** Why none of its tools may be called; null where they may. */
  #whyNot(reader: Reader, { name, digest }: UpstreamRule & { readonly digest: string }): string | null {
    const head = pinHead(reader, name);
    if (head === null) return 'it was never connected to';
    if (head.acceptedBy === null) return HELD;
    if (head.state !== 'accepted') return 'it offers other tools than those that were accepted';
    return head.rule === digest ? null : 'its command is not the one that was accepted';
  }
}

const HELD = 'its texts have findings, and no person has accepted it';

function quarantined(toolId: string, name: string, why: string) {
  return refuse(
    'upstream/quarantined',
    `Cannot call "${toolId}": the upstream server "${name}" is in quarantine, ${why}`,
    reviewOf(name),
  );
}

function reviewOf(name: string): string {
  return `Look at what it offers with \`palisade upstream show ${name}\`, then run \`palisade upstream approve ${name}\`.`;
}
