import { canonicalize } from '@palisade/sdk';
import { cached } from '../core/cached.ts';
import type { ToolCall } from '../core/call.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import { type Digest, digestBytes, digestValue } from '../core/digest.ts';
import type { Json } from '../core/json.ts';
import { type Limits, narrow } from '../core/limits.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import type { PreparedProcess } from '../core/process.ts';
import { parseStrict, type StrictLimits } from '../core/strict-json.ts';
import type { Tool } from '../core/tool.ts';
import type { Reader } from '../store/transaction.ts';
import { surelyMatches } from './plain-match.ts';
import type { Schemas, Validate } from './schema.ts';
import type { FoundTool, SkillTools } from './skill-tools.ts';
import type { UpstreamTools } from './upstream-tools.ts';

/*
 * The one table of tools. A call arrives with bytes; it leaves as a checked call whose input was parsed once, strictly,
 * and matches the tool's schema. Policies judge, and the tool gets, that same value.
 */

export type RegistryOptions = {
  /** Tools that exist for as long as the gateway does. */
  readonly tools: readonly Tool[];
  /** Tools of installed skills; left out: there are none. */
  readonly skills?: SkillTools;
  /** Tools of MCP servers behind this gateway; left out: there are none. */
  readonly upstreams?: UpstreamTools;
  readonly input: StrictLimits;
  readonly limits: Limits;
  /** Left out: the limits of all calls are those of modules as well. */
  readonly wasm?: Pick<Limits, 'wallMs'>;
  readonly ceilings: Limits;
  /** Loads the schema compiler; it is the slowest part of a start and not every command needs it. */
  readonly loadSchemas: () => Promise<Schemas>;
};

type Entry = { readonly tool: Tool; readonly digest: Digest };

export class Registry {
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #options: RegistryOptions;
  #schemas: Promise<Schemas> | null = null;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#entries = new Map(options.tools.map((tool) => [tool.id, entryOf(tool)]));
  }

  /** The same registry with additional tools, for calls of tools that exist no longer than the calls. */
  with(tools: readonly Tool[]): Registry {
    return this.#derive({ ...this.#options, tools: [...this.#options.tools, ...tools] });
  }

  /** The same registry with only the tools of upstream servers. */
  ofUpstreams(): Registry {
    const { skills: _, ...options } = this.#options;
    return this.#derive({ ...options, tools: [] });
  }

  #derive(options: RegistryOptions): Registry {
    const derived = new Registry(options);
    derived.#schemas = this.#schemas;
    return derived;
  }

  /** The gateway's own tools, in the order of their ids; those of skills come in pages. */
  list(): Tool[] {
    return [...this.#entries.values()].map(({ tool }) => tool).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Up to `limit` callable tools after this id, including those of skills and upstreams, in the order of their ids. */
  page(after: string | null, limit: number): readonly Tool[] {
    const { skills, upstreams } = this.#options;
    const ours = this.list().filter(({ id }) => after === null || id > after);
    const all = [...(upstreams?.page(after, limit) ?? []), ...(skills?.page(after, limit) ?? []), ...ours];
    // For equal ids, what `look` finds first comes last and is kept.
    const byId = new Map(all.map((tool) => [tool.id, tool]));
    return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
  }

  /** Changes whenever a tool becomes callable, or no longer is. */
  version(): string {
    const { skills, upstreams } = this.#options;
    return `${skills?.version() ?? 0}.${upstreams?.version() ?? 0}`;
  }

  /** What policies are checked against: the gateway's own tools, and those that the policies name. */
  named({ tools, skills }: { readonly tools: Iterable<string>; readonly skills: Iterable<string> }): Tool[] {
    const known = new Map(this.list().map((tool) => [tool.id, tool]));
    for (const id of tools) {
      const tool = this.find(id)?.tool;
      if (tool !== undefined) known.set(id, tool);
    }
    for (const id of skills)
      for (const tool of this.#options.skills?.ofSkill(id) ?? []) known.set(tool.id, tool);
    return [...known.values()];
  }

  /** The tool of that id, or why it may not be called; undefined where it does not exist. */
  look(id: string): FoundTool | undefined {
    const { skills, upstreams } = this.#options;
    return this.#entries.get(id) ?? skills?.find(id) ?? upstreams?.find(id);
  }

  /** The tool of that id, if it may be called. */
  find(id: string): Entry | undefined {
    const found = this.look(id);
    return found !== undefined && 'tool' in found ? entryOf(found.tool) : undefined;
  }

  /** The upstream server that a tool of this id could belong to, where its tools are not known yet. */
  undiscovered(id: string): string | null {
    const server = this.#options.upstreams?.undiscovered(id) ?? null;
    return server !== null && this.look(id) === undefined ? server : null;
  }

  /** Whether a tool is unchanged since it was found, as the reader sees it. */
  holds(reader: Reader, tool: Tool): boolean {
    const { skills, upstreams } = this.#options;
    if (this.#entries.get(tool.id)?.tool === tool) return true;
    return (skills?.holds(reader, tool) ?? false) || (upstreams?.holds(reader, tool) ?? false);
  }

  /** Finds the tool and parses the input; refuses what is not strict JSON or does not match. */
  async check(call: ToolCall): Promise<CheckedCall | Refused> {
    const found = this.look(call.tool);
    if (found === undefined)
      return refuse('registry/unknown-tool', `Cannot call "${call.tool}": no such tool`);
    if ('refused' in found) {
      await found.misfit?.();
      return found.refused;
    }
    const entry = entryOf(found.tool);
    const parsed = parseStrict(call.rawInput, this.#options.input);
    if (!parsed.ok) {
      const { is, expected, position } = parsed.problem;
      const at = `line ${position.line}, column ${position.column}`;
      const message = `Cannot read the input of ${call.tool} at ${at}: ${is}, expected ${expected}`;
      return refuse('registry/invalid-input', message);
    }
    const problem = await this.#problemOf(entry.tool, entry.tool.inputSchema, parsed.value);
    if (problem !== null) {
      return refuse('registry/invalid-input', `Cannot accept the input of ${call.tool}: ${problem}`);
    }
    const { executor } = entry.tool;
    if (executor.kind !== 'process') return this.#checkedCall(call, entry, parsed.value);
    const prepared = await executor.prepare(parsed.value);
    return 'status' in prepared ? prepared : this.#checkedCommand(call, entry, parsed.value, prepared);
  }

  /** Where and why an output does not match the schema of its tool; null where it does. */
  outputProblem(tool: Tool, output: Json): Promise<string | null> {
    return this.#problemOf(tool, tool.outputSchema, output);
  }

  #checkedCall(call: ToolCall, { tool, digest }: Entry, input: Json): CheckedCall {
    const inputText = canonicalize(input);
    const { tier, artifacts } = tool;
    const { ceilings, limits: configured, wasm } = this.#options;
    // Boundary: no caller and no manifest raises what the configuration gives to modules.
    const own = tool.executor.kind === 'wasm' ? wasm : undefined;
    const most = narrow(narrow(tool.limits, ceilings), own ?? {});
    const limits = narrow(most, callerLimits(call, tool, { ...configured, ...own }));
    const digests = { toolDigest: digest, inputDigest: digestBytes(inputText) };
    return { call, tool, input, inputText, ...digests, tier, process: null, artifacts, limits };
  }

  /** A command has its own limits, its tier, and the digests of the files that run. */
  #checkedCommand(call: ToolCall, entry: Entry, input: Json, process: PreparedProcess): CheckedCall {
    const { terms, facts } = process;
    const files = terms.files.map(({ path, sha256 }) => ({ name: path, sha256 }));
    const { wallMs, cpuMs, memoryBytes, outputBytes, egressBytes } = terms.limits;
    const time = { wallMs: Math.min(wallMs, call.timeoutMs ?? wallMs) };
    const asked = { cpuMs, memoryBytes, outputBytes, egressBytes, ...time };
    return {
      ...this.#checkedCall(call, entry, input),
      tier: facts.tier,
      process,
      artifacts: [...entry.tool.artifacts, ...files],
      limits: narrow(narrow(entry.tool.limits, this.#options.ceilings), asked),
    };
  }

  async #problemOf(tool: Tool, schema: Tool['inputSchema'], value: Json): Promise<string | null> {
    // Boundary: only of the gateway's own tools; what others write as a schema is left to the compiler.
    if (this.#entries.get(tool.id)?.tool === tool && surelyMatches(schema, value)) return null;
    return (await this.#validator(schema))(value);
  }

  async #validator(schema: Tool['inputSchema']): Promise<Validate> {
    this.#schemas ??= this.#options.loadSchemas().catch((error: unknown) => {
      // What could not be loaded now may be loaded at the next call.
      this.#schemas = null;
      throw error;
    });
    return (await this.#schemas).compile(schema);
  }
}

/** The configured limits, unless the caller requests less time, or more up to the tool's own limit. */
function callerLimits(call: ToolCall, tool: Tool, configured: Limits): Partial<Limits> {
  const wallMs = call.timeoutMs ?? Math.min(configured.wallMs, tool.limits.wallMs);
  return { ...configured, wallMs };
}

const entries: WeakMap<Tool, Entry> = new WeakMap();

/** A tool with the digest of its definition, computed once for each record. */
function entryOf(tool: Tool): Entry {
  return cached(entries, tool, () => {
    // Everything about it that a caller or an approver was shown.
    const { hosts: _, paths: __, executor: ___, ...shown } = tool;
    return { tool, digest: digestValue(shown) };
  });
}
