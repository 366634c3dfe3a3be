import type { ToolCall } from './call.ts';
import type { CapabilityTag } from './capability.ts';
import type { Digest } from './digest.ts';
import type { Json } from './json.ts';
import type { Limits } from './limits.ts';
import type { Refused } from './outcome.ts';
import type { PreparedProcess } from './process.ts';
import type { WasmProgram } from './wasm.ts';

export type Risk = 'low' | 'medium' | 'high';

/** Where a tool runs. `builtin` is our own code inside the gateway; the letters are the sandbox tiers. */
export type TierName = 'builtin' | 'a' | 'b' | 'c';

export type JsonSchema = { readonly [keyword: string]: Json };

/** The inputs of a built-in tool: its checked input, a signal that fires at the deadline, and the call itself. */
export type BuiltinRun = (input: Json, signal: AbortSignal, call: ToolCall) => Promise<Json>;

/** Reads a checked input as a command: resolves and scopes every argument, or refuses. Nothing is run. */
export type PrepareProcess = (input: Json) => Promise<PreparedProcess | Refused>;

export type Executor =
  | { readonly kind: 'builtin'; readonly run: BuiltinRun }
  | { readonly kind: 'process'; readonly prepare: PrepareProcess }
  | { readonly kind: 'wasm'; readonly program: WasmProgram }
  /** A tool of an MCP server that runs in its own sandbox; `tool` is the server's name for it. */
  | UpstreamExecutor;

export type UpstreamMethod = 'resources/read' | 'prompts/get' | 'completion/complete';

export type UpstreamExecutor = {
  readonly kind: 'upstream';
  readonly upstream: string;
  readonly tool: string;
  /** What its server was granted. */
  readonly tags: readonly CapabilityTag[];
  /** Left out: a tool of the server is called. */
  readonly method?: UpstreamMethod;
};

/** What a tool says about itself to those who choose among tools. It describes, and never grants. */
export type ToolAnnotations = {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
};

/** The skill that a tool belongs to, as policies see it. */
export type ToolSkill = {
  readonly id: string;
  readonly version: string;
  readonly publisher: string;
  /** How its key came to be trusted. */
  readonly trust: 'operator' | 'first-use';
  /** Of its package, and of what it was granted. */
  readonly artifact: Digest;
  readonly grant: Digest;
};

/** The record of a tool. What is listed, authorised, run and attested is this record. */
export type Tool = {
  readonly id: string;
  readonly description: string;
  readonly category: string;
  readonly risk: Risk;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly capabilities: readonly string[];
  readonly tier: TierName;
  readonly limits: Limits;
  /** Hosts and paths that a given input names, for policies to judge. */
  readonly hosts: (input: Json) => readonly string[];
  readonly paths: (input: Json) => readonly string[];
  readonly artifacts: readonly { readonly name: string; readonly sha256: Digest }[];
  readonly executor: Executor;
  /** Its name for people; its id where it has no other. */
  readonly title?: string;
  readonly annotations?: ToolAnnotations;
  readonly skill?: ToolSkill;
  /** Its output is an MCP result: `content`, and possibly `structuredContent` and `isError`. */
  readonly isMcpResult?: true;
  /** What MCP clients are shown in place of the schemas that are enforced, which are looser. */
  readonly published?: {
    readonly inputSchema: JsonSchema;
    /** Of `structuredContent`; null where its server promises nothing about it. */
    readonly outputSchema: JsonSchema | null;
  };
};
