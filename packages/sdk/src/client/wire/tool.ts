import type { Limits } from '../../receipt.ts';
import type { JsonSchema, Risk, TierName } from './parts.ts';

export type ToolRow = {
  readonly id: string;
  readonly description: string;
  readonly risk: Risk;
  readonly tier: TierName;
};

export type ToolPage = { readonly tools: readonly ToolRow[]; readonly cursor: string | null };

export type ToolDocument = ToolRow & {
  readonly category: string;
  readonly capabilities: readonly string[];
  readonly limits: Limits;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly artifacts: readonly { readonly name: string; readonly sha256: string }[];
  readonly title?: string | undefined;
  readonly annotations?:
    | {
        readonly readOnly: boolean;
        readonly destructive: boolean;
        readonly idempotent: boolean;
        readonly openWorld: boolean;
      }
    | undefined;
  readonly skill?:
    | {
        readonly id: string;
        readonly version: string;
        readonly publisher: string;
        readonly trust: 'operator' | 'first-use';
      }
    | undefined;
};
