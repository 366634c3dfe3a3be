/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type JsonSchema = { readonly [keyword: string]: Json };

export type Risk = 'low' | 'medium' | 'high';

/** Where a tool runs: inside the gateway, or in one of the sandbox tiers. */
export type TierName = 'builtin' | 'a' | 'b' | 'c';

/** What a credential may be used for. */
export type Scope = 'call' | 'read' | 'approve' | 'skills' | 'policy' | 'secrets' | 'admin';

/** A signed document, as `verifyReceipt` and `verifyCheckpoint` take it once it is text again. */
export type SignedEnvelope = {
  readonly payload: string;
  readonly payloadType: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
};
