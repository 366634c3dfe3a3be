import type { Code } from './codes.table.ts';

export const RECEIPT_PAYLOAD_TYPE = 'application/vnd.in-toto+json';
export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
export const RECEIPT_PREDICATE_TYPE = 'urn:palisade:receipt:v1';

/** What a call may use at most. */
export type Limits = {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly fuel: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly egressBytes: number;
};

/** What a call did use, in non-negative safe integers. */
export type Usage = {
  readonly calls: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly fuel: number;
  readonly outputBytes: number;
  readonly egressBytes: number;
};

export type Subject = { readonly name: 'input' | 'output'; readonly digest: { readonly sha256: string } };

/** The status of a call as stated in a receipt. */
export type ReceiptStatus = 'ok' | 'refused' | 'failed';

/** What the gateway vouches for about one call. */
export type Predicate = {
  readonly call: {
    readonly id: string;
    readonly run: string | null;
    readonly door: string;
    readonly receivedAt: string;
    /** Null when nothing was started. */
    readonly startedAt: string | null;
    readonly endedAt: string;
  };
  readonly principal: string;
  readonly tenant: string;
  /** The digest of the canonical tool definition; null for a tool that is not registered. */
  readonly tool: { readonly id: string; readonly definition: string | null };
  readonly outcome: { readonly status: ReceiptStatus; readonly code: Code };
  readonly output: { readonly bytes: number; readonly truncated: boolean } | null;
  /** The digest of the policy set, null when none was loaded, and the ids of the policies that decided. */
  readonly policy: { readonly set: string | null; readonly decidedBy: readonly string[] };
  readonly approval: { readonly id: string; readonly by: string; readonly at: string } | null;
  readonly artifacts: readonly { readonly name: string; readonly sha256: string }[];
  /** Where it ran and the isolation that was measured there; null when nothing ran. */
  readonly execution: {
    readonly tier: string;
    readonly executor: string;
    readonly isolation: Readonly<Record<string, string | number | boolean>>;
  } | null;
  readonly limits: Limits | null;
  readonly usage: Usage;
  /** The journal record at `seq`, which follows the record with hash `prev`, holds the SHA-256 of this payload. */
  readonly journal: { readonly seq: number; readonly prev: string };
  readonly gateway: { readonly version: string };
};

/** The in-toto statement inside a receipt. */
export type Statement = {
  readonly _type: typeof STATEMENT_TYPE;
  /** The input first, then the output when there is one. */
  readonly subject: readonly Subject[];
  readonly predicateType: typeof RECEIPT_PREDICATE_TYPE;
  readonly predicate: Predicate;
};
