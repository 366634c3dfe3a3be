import type { ToolCall } from '../../../core/call.ts';
import type { Json } from '../../../core/json.ts';
import { refuse } from '../../../core/outcome.ts';
import type { Ended } from '../../../invoke/finish.ts';
import type { Gateway } from '../../../invoke/gateway.ts';
import { type AskedApproval, askedApproval } from '../../documents/asked-approval.ts';
import { type CallDocument, callDocument } from '../../documents/call.ts';
import { isHidden, noSuchTool } from '../../hidden-call.ts';
import type { Reply } from '../route.ts';

/* What a caller of this door is told of how a call ended. */

/** The document of `palisade call --json`, with what only some endings have. */
export type ToldCall = CallDocument & {
  readonly truncated?: true;
  readonly approval?: AskedApproval;
  readonly replayed?: true;
};

/** How a call ended, as its caller may know it. */
export function toldCall(gateway: Gateway, call: ToolCall, known: Ended): ToldCall {
  const { tool, principal, tenant } = call;
  const ended = isHidden(gateway, { tool, principal, tenant }, known.outcome)
    ? asUnknown(known, tool)
    : known;
  const { outcome, replayed } = ended;
  const approval = askedApproval(gateway, ended);
  return {
    ...callDocument(ended),
    ...(outcome.status === 'failed' && outcome.truncated ? { truncated: true } : {}),
    ...(approval === null ? {} : { approval }),
    ...(replayed === undefined ? {} : { replayed }),
  };
}

/** A document where it went well, and a problem with the same members where it did not. */
export function replyOf(told: ToldCall): Reply {
  const { status, code, message, remedy, truncated = false, ...more } = told;
  if (status === 'ok') return { kind: 'json', status: 200, body: told as unknown as Json };
  return {
    kind: 'problem',
    code,
    detail: message,
    ...(remedy === null ? {} : { remedy }),
    more: { ...more, truncated } as unknown as Readonly<Record<string, Json>>,
  };
}

/** What is said of a tool that is not there. The receipt would tell, so there is none for either. */
export function asUnknown(ended: Ended, tool: string): Ended {
  const outcome = refuse('registry/unknown-tool', noSuchTool(tool));
  return { ...ended, outcome, receipt: null };
}
