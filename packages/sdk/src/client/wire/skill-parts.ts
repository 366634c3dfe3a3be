import type { JsonSchema, Risk } from './parts.ts';

export type SkillTool = {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly risk: Risk;
  readonly module: string;
  readonly export: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly annotations: {
    readonly readOnly: boolean;
    readonly destructive: boolean;
    readonly idempotent: boolean;
    readonly openWorld: boolean;
  };
};

/** What the operator approved; what was withheld keeps its place and is closed. */
export type SkillGrant = {
  readonly wasm: {
    readonly http: readonly (string | null)[];
    readonly secrets: readonly {
      readonly name: string;
      readonly mayReveal: boolean;
      readonly scope?: 'global' | 'tenant' | 'principal' | 'skill' | undefined;
      readonly hosts: readonly string[];
    }[];
    readonly storage: readonly { readonly read: readonly string[]; readonly write: readonly string[] }[];
    readonly channels: readonly {
      readonly name: string;
      readonly publish: boolean;
      readonly receive: boolean;
    }[];
    readonly log: boolean;
    readonly clock: boolean;
    readonly random: boolean;
    readonly config: Readonly<Record<string, string>> | null;
  };
  readonly limits: {
    readonly wallMs?: number | undefined;
    readonly fuel?: number | undefined;
    readonly memoryBytes?: number | undefined;
  };
};

/** What a version has that another does not; `widens` says whether it could do more than before. */
export type SkillDifference = {
  readonly widens: boolean;
  readonly capabilities: { readonly added: readonly string[]; readonly removed: readonly string[] };
  readonly quotas: readonly {
    readonly name: 'wallMs' | 'fuel' | 'memoryBytes';
    readonly before: number | null;
    readonly after: number | null;
  }[];
  readonly reviewers: { readonly before: number; readonly after: number } | null;
  readonly tools: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly { readonly id: string; readonly what: readonly string[] }[];
  };
  readonly prose: { readonly changed: boolean; readonly lines: readonly string[] };
};

export type SkillComparison = SkillDifference & {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** What of the first version was compared. */
  readonly against: 'asked' | 'granted';
};
