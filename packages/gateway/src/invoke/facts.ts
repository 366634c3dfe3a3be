import type { ToolCall } from '../core/call.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import { isoTime } from '../core/clock.ts';
import { type Digest, digestBytes } from '../core/digest.ts';
import type { Limits } from '../core/limits.ts';
import { formatPrincipal, isName, isToolName } from '../core/principal.ts';
import type { Grant } from '../policy/grant.ts';
import type { Verdict } from './admit.ts';
import type { Records } from './gateway.ts';

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

/** Stands for a name that was refused. */
const UNNAMED = 'invalid-name';

type Refusal = { readonly checked: CheckedCall | null; readonly verdict: Verdict };

/** The facts of a call that is refused. */
export function refusalFacts(
  { version, redact }: Records,
  call: ToolCall,
  { checked, verdict }: Refusal,
): CallFacts {
  const named = recordable(call, redact);
  const definition = checked?.toolDigest ?? null;
  const inputDigest = checked?.inputDigest ?? digestBytes(call.rawInput);
  return {
    ...identityOf(named),
    tool: { id: toolNameOf(named.tool, checked !== null, redact), definition },
    inputDigest,
    policy: { set: verdict.set, decidedBy: verdict.decidedBy },
    approval: null,
    artifacts: checked?.artifacts ?? [],
    limits: null,
    gateway: { version },
  };
}

/** The facts of a call that was granted and may use what `limits` say. */
export function grantedFacts({ version }: Records, grant: Grant, limits: Limits): CallFacts {
  const { call, tool, toolDigest, inputDigest, artifacts } = grant.call;
  const { approval, setDigest, decidedBy } = grant;
  return {
    ...identityOf(call),
    tool: { id: tool.id, definition: toolDigest },
    inputDigest,
    policy: { set: setDigest, decidedBy },
    approval: approval === null ? null : { id: approval.id, by: approval.by, at: isoTime(approval.atMs) },
    artifacts,
    limits,
    gateway: { version },
  };
}

/** Which name of a call cannot be recorded, or null: it breaks the grammar of names, or the caller put a secret there. */
export function unrecordableName(call: ToolCall, redact: Records['redact']): string | null {
  const { principal, tenant, run, tool } = call;
  const isPlain = (name: string) => name === UNNAMED || (isName(name) && redact(name) === name);
  if (!isPlain(principal.name)) return 'principal';
  if (!isPlain(tenant)) return 'tenant';
  if (run !== null && !isPlain(run)) return 'run';
  return isToolName(tool) ? null : 'tool';
}

/** Boundary: a name that cannot be recorded never is; what stands in its place says so. */
function recordable(call: ToolCall, redact: Records['redact']): ToolCall {
  switch (unrecordableName(call, redact)) {
    case null:
      return call;
    case 'principal':
      return recordable({ ...call, principal: { ...call.principal, name: UNNAMED } }, redact);
    case 'run':
      return recordable({ ...call, run: UNNAMED }, redact);
    case 'tenant':
      return recordable({ ...call, tenant: UNNAMED }, redact);
    default:
      return { ...call, tool: UNNAMED };
  }
}

/** The name of a tool that we know is ours; any other is the caller's, who may have put a secret there. */
function toolNameOf(tool: string, isKnown: boolean, redact: Records['redact']): string {
  return isKnown || redact(tool) === tool ? tool : UNNAMED;
}

function identityOf(call: ToolCall): Pick<CallFacts, 'call' | 'principal' | 'tenant'> {
  const { id, run, door } = call;
  return {
    call: { id, run, door, receivedAt: isoTime(call.receivedAtMs) },
    principal: formatPrincipal(call.principal),
    tenant: call.tenant,
  };
}
