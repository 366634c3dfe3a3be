import type { JsonSchema, Risk, ToolAnnotations } from '../../core/tool.ts';
import type { Asks } from '../../core/wasm.ts';

/*
 * What a skill says of itself in skill.toml, read and checked. It is a request: what the operator approved is the grant,
 * and nothing here gives anything.
 */

export type Manifest = {
  /** `publisher.name`, also the beginning of the ids of its tools. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly publisher: string;
  readonly description: string;
  readonly license: string | null;
  readonly homepage: string | null;
  readonly tools: readonly ManifestTool[];
  readonly asks: Asks;
  readonly quotas: Quotas;
  readonly trust: {
    /** How many different people must approve it. */
    readonly reviewers: number;
    /** It is audited again after this many days, or sooner if the operator says so; null: as the operator says. */
    readonly reauditDays: number | null;
  };
  readonly compat: {
    readonly abi: 1;
    /** The oldest palisade it runs on. */
    readonly palisadeMin: string | null;
  };
  /** The parts it was made of, for its bill of materials. */
  readonly components: readonly ManifestComponent[];
  readonly build: ManifestBuild | null;
};

export type ManifestTool = {
  /** Without the id of the skill in front. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
  readonly description: string;
  readonly risk: Risk;
  /** The path of its module in the package. */
  readonly module: string;
  /** The export of a module, or the name that a component knows the tool by. */
  readonly export: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
};

/** The most that a call of the skill requests; null: the gateway's default. */
export type Quotas = {
  readonly wallMs: number | null;
  readonly fuel: number | null;
  readonly memoryBytes: number | null;
};

export type ManifestComponent = {
  readonly name: string;
  readonly version: string;
  /** Its package URL; null: it has none. */
  readonly purl: string | null;
  readonly license: string | null;
};

export type ManifestBuild = {
  readonly language: 'assemblyscript' | 'c' | 'javascript';
  /** Which source makes which module; both are paths below the folder of the skill. */
  readonly modules: readonly { readonly source: string; readonly module: string }[];
};
