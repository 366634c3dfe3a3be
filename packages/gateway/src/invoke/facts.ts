import type { ToolCall } from '../core/call.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import { isoTime } from '../core/clock.ts';
import { type Digest, digestBytes } from '../core/digest.ts';
import type { Limits } from '../core/limits.ts';
import { formatPrincipal, isName, isToolName } from '../core/principal.ts';
import type { Grant } from '../policy/grant.ts';
import type { Verdict } from './admit.ts';

/**
 * What is known of a call before it runs. It stands in the intent, word for word, so that a gateway that starts after a
 * crash can still sign what became of the call.
 */
export type CallFacts = {
  readonly call: {
    readonly id: string;
    readonly run: string | null;
    readonly door: string;
    readonly receivedAt: string;
  };
  readonly principal: string;
  readonly tenant: string;
  readonly tool: { readonly id: string; readonly definition: string | null };
  readonly inputDigest: Digest;
  readonly policy: { readonly set: string | null; readonly decidedBy: readonly string[] };
  readonly approval: { readonly id: string; readonly by: string; readonly at: string } | null;
  readonly artifacts: readonly { readonly name: string; readonly sha256: string }[];
  readonly limits: Limits | null;
  readonly gateway: { readonly version: string };
};

const INVALID = '(invalid)';

/** The facts of a call that is refused. */
export function refusalFacts(
  call: ToolCall,
  checked: CheckedCall | null,
  verdict: Verdict,
  version: string,
): CallFacts {
  const named = recordable(call);
  const definition = checked?.toolDigest ?? null;
  const inputDigest = checked?.inputDigest ?? digestBytes(call.rawInput);
  const artifacts = checked?.tool.artifacts ?? [];
  const policy = { set: verdict.set, decidedBy: verdict.decidedBy };
  return {
    ...identityOf(named),
    tool: { id: named.tool, definition },
    inputDigest,
    policy,
    approval: null,
    artifacts,
    limits: null,
    gateway: { version },
  };
}

/** The facts of a call that was granted and may use what `limits` say. */
export function grantedFacts(grant: Grant, limits: Limits, version: string): CallFacts {
  const { call, tool, toolDigest, inputDigest } = grant.call;
  const { approval, setDigest, decidedBy } = grant;
  return {
    ...identityOf(call),
    tool: { id: tool.id, definition: toolDigest },
    inputDigest,
    policy: { set: setDigest, decidedBy },
    approval: approval === null ? null : { id: approval.id, by: approval.by, at: isoTime(approval.atMs) },
    artifacts: tool.artifacts,
    limits,
    gateway: { version },
  };
}

/** Boundary: names that break the grammar of names never reach a record; what stands for them says so. */
export function recordable(call: ToolCall): ToolCall {
  const { principal, tenant, run, tool } = call;
  return {
    ...call,
    principal: isName(principal.name) ? principal : { ...principal, name: INVALID },
    tenant: isName(tenant) ? tenant : INVALID,
    run: run === null || isName(run) ? run : INVALID,
    tool: isToolName(tool) ? tool : INVALID,
  };
}

function identityOf(call: ToolCall): Pick<CallFacts, 'call' | 'principal' | 'tenant'> {
  const { id, run, door } = call;
  return {
    call: { id, run, door, receivedAt: isoTime(call.receivedAtMs) },
    principal: formatPrincipal(call.principal),
    tenant: call.tenant,
  };
}
