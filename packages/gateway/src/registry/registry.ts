import { canonicalize } from '@palisade/sdk';
import type { ToolCall } from '../core/call.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import { type Digest, digestBytes, digestValue } from '../core/digest.ts';
import type { Json } from '../core/json.ts';
import { type Limits, narrow } from '../core/limits.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import type { PreparedProcess } from '../core/process.ts';
import { parseStrict } from '../core/strict-json.ts';
import type { Tool } from '../core/tool.ts';
import type { Schemas, Validate } from './schema.ts';

/*
 * The one table of tools. A call comes in with bytes; it leaves as a checked call whose input was read once, strictly,
 * and fits the tool's schema. That same value is what policies judge and what the tool gets.
 */

export type InputLimits = { readonly maxBytes: number; readonly maxDepth: number };

export type RegistryOptions = {
  readonly tools: readonly Tool[];
  readonly input: InputLimits;
  readonly limits: Limits;
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
    this.#entries = new Map(options.tools.map((tool) => [tool.id, { tool, digest: definitionDigest(tool) }]));
  }

  /** All tools by their id, in one order. */
  list(): Tool[] {
    return [...this.#entries.values()].map(({ tool }) => tool).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  find(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  /** Finds the tool and reads the input; refuses what is not strict JSON or does not fit. */
  async check(call: ToolCall): Promise<CheckedCall | Refused> {
    const entry = this.find(call.tool);
    if (entry === undefined)
      return refuse('registry/unknown-tool', `Cannot call "${call.tool}": no such tool`);
    const parsed = parseStrict(call.rawInput, this.#options.input);
    if (!parsed.ok) {
      const message = parsed.message.replace('Cannot read JSON', `Cannot read the input of ${call.tool}`);
      return refuse('registry/invalid-input', message);
    }
    const problem = (await this.#validator(entry.tool.inputSchema))(parsed.value);
    if (problem !== null) {
      return refuse('registry/invalid-input', `Cannot accept the input of ${call.tool}: ${problem}`);
    }
    const { executor } = entry.tool;
    if (executor.kind !== 'process') return this.#checkedCall(call, entry, parsed.value);
    const prepared = await executor.prepare(parsed.value);
    return 'status' in prepared ? prepared : this.#checkedCommand(call, entry, parsed.value, prepared);
  }

  /** The check of a tool's output, ready to use. */
  async outputCheck(tool: Tool): Promise<Validate> {
    return this.#validator(tool.outputSchema);
  }

  #checkedCall(call: ToolCall, { tool, digest }: Entry, input: Json): CheckedCall {
    const inputText = canonicalize(input);
    const { tier, artifacts } = tool;
    return {
      call,
      tool,
      toolDigest: digest,
      input,
      inputText,
      inputDigest: digestBytes(inputText),
      tier,
      process: null,
      artifacts,
      limits: narrow(
        narrow(tool.limits, this.#options.ceilings),
        callerLimits(call, tool, this.#options.limits),
      ),
    };
  }

  /** A command brings its own limits, its tier, and the digest of the file that runs. */
  #checkedCommand(call: ToolCall, entry: Entry, input: Json, process: PreparedProcess): CheckedCall {
    const { terms, facts } = process;
    const { wallMs, cpuMs, memoryBytes, outputBytes, egressBytes } = terms.limits;
    const time = { wallMs: Math.min(wallMs, call.timeoutMs ?? wallMs) };
    const asked = { cpuMs, memoryBytes, outputBytes, egressBytes, ...time };
    return {
      ...this.#checkedCall(call, entry, input),
      tier: facts.tier,
      process,
      artifacts: [...entry.tool.artifacts, { name: terms.executable, sha256: terms.executableSha256 }],
      limits: narrow(narrow(entry.tool.limits, this.#options.ceilings), asked),
    };
  }

  async #validator(schema: Tool['inputSchema']): Promise<Validate> {
    this.#schemas ??= this.#options.loadSchemas().catch((error: unknown) => {
      // What could not be loaded now may be at the next call.
      this.#schemas = null;
      throw error;
    });
    return (await this.#schemas).compile(schema);
  }
}

/** Without a word from the caller the configured limits hold; a caller may ask for less time, or for more up to the tool's own limit. */
function callerLimits(call: ToolCall, tool: Tool, configured: Limits): Partial<Limits> {
  const wallMs = call.timeoutMs ?? Math.min(configured.wallMs, tool.limits.wallMs);
  return { ...configured, wallMs };
}

/** The digest of everything about a tool that a caller or an approver was shown. */
function definitionDigest(tool: Tool): Digest {
  const { hosts: _, paths: __, executor: ___, ...shown } = tool;
  return digestValue(shown);
}
