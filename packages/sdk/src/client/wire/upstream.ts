import type { JsonSchema, Risk } from './parts.ts';

/** What lists and single looks show of an MCP server behind the gateway. */
type UpstreamFacts = {
  readonly name: string;
  readonly state: 'unmet' | 'accepted' | 'quarantined';
  /** Why it is in quarantine. */
  readonly reason: string | null;
  readonly tier: 'b' | 'c';
  readonly risk: Risk;
  /** What the ids of its tools begin with. */
  readonly prefix: string;
  /** How many tools are accepted. */
  readonly tools: number;
  readonly acceptedBy: string | null;
  readonly acceptedAt: string | null;
  readonly changedAt: string | null;
};

export type UpstreamSummary = UpstreamFacts & {
  /** How many doubts its texts give reason to. */
  readonly findings: number;
};

export type UpstreamList = { readonly upstreams: readonly UpstreamSummary[] };

/** A tool as its server offers it. Its texts are those of the server, and are not to be trusted. */
export type UpstreamDefinition = {
  /** What the tool is called here. */
  readonly id: string;
  /** What its server calls it. */
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  readonly annotations: {
    readonly readOnlyHint?: boolean | undefined;
    readonly destructiveHint?: boolean | undefined;
    readonly idempotentHint?: boolean | undefined;
    readonly openWorldHint?: boolean | undefined;
  };
};

/** A server with what was accepted of it, and what it offers instead. */
export type UpstreamDocument = UpstreamFacts & {
  readonly command: readonly string[];
  readonly workspace: string | null;
  readonly readOnly: readonly string[];
  readonly allowHosts: readonly string[];
  readonly secrets: readonly string[];
  /** The names of its variables. */
  readonly env: readonly string[];
  /** Of what is accepted. */
  readonly digest: string | null;
  /** Of what it offers instead; null: nothing else. */
  readonly offeredDigest: string | null;
  readonly difference: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly renamed: readonly { readonly from: string; readonly to: string }[];
    readonly changed: readonly { readonly name: string; readonly fields: readonly string[] }[];
  } | null;
  readonly definitions: readonly UpstreamDefinition[];
  readonly offered: readonly UpstreamDefinition[] | null;
  readonly findings: readonly {
    readonly check: string;
    readonly severity: string;
    readonly where: string;
    readonly what: string;
  }[];
};

export type ApproveUpstreamRequest = {
  /** The `offeredDigest` that whoever accepts was shown; nothing else is accepted. */
  readonly digest: string;
};
