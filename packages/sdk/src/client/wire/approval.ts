import type { JsonSchema, Risk, TierName } from './parts.ts';

export type ApprovalState = 'pending' | 'approved' | 'denied' | 'used' | 'expired';

/** A question to a person, and its answer once there is one. */
export type ApprovalDocument = {
  readonly id: string;
  /** Names the very call that is asked for. */
  readonly digest: string;
  readonly tenant: string;
  readonly principal: string;
  readonly tool: string;
  /** The input without secrets; empty once it is used or expired. */
  readonly inputText: string;
  readonly inputDigest: string;
  readonly toolDigest: string;
  readonly policySet: string;
  /** The policies that permit the call once it is approved. */
  readonly policies: readonly string[];
  readonly risk: Risk;
  readonly askedAtMs: number;
  readonly expiresAtMs: number;
  readonly state: ApprovalState;
  readonly decidedBy: string | null;
  readonly decidedAtMs: number | null;
  readonly note: string | null;
  readonly usedByCall: string | null;
  readonly askedTool: {
    readonly description: string;
    readonly category: string;
    readonly tier: TierName;
    readonly capabilities: readonly string[];
    readonly inputSchema: JsonSchema;
  } | null;
};

export type ApprovalPage = {
  readonly approvals: readonly ApprovalDocument[];
  readonly cursor: string | null;
};

export type DecisionRequest = {
  readonly verdict: 'approved' | 'denied';
  /** Why; it is recorded and shown. */
  readonly note?: string | undefined;
};
