import { CODES } from '@palisade/sdk';
import type { ToolCall } from '../core/call.ts';
import type { Gateway } from '../invoke/gateway.ts';
import { isVisible } from '../invoke/visible-tools.ts';
import type { KeptResult } from '../results/results.ts';

/*
 * What a caller may know of calls of tools that it may not see, whichever door it looks through and however late: that
 * there is no such tool. The journal has what was really decided.
 */

type OfTool = Pick<ToolCall, 'tool' | 'principal' | 'tenant'>;
type Ending = { readonly status: string; readonly code: string };

/** Refusals that say nothing about the tool: they come before it is looked for, or whatever it is. */
const OF_THE_GATEWAY = /^(door|store|attest|config)\/|^policy\/unavailable$/;

/**
 * Boundary: a tool that this principal could never call is answered exactly like one that is not there, whatever the
 * policies or its schema said about the call.
 */
export function isHidden(
  gateway: Gateway,
  { tool, principal, tenant }: OfTool,
  { status, code }: Ending,
): boolean {
  if (status !== 'refused' || OF_THE_GATEWAY.test(code)) return false;
  return !isVisible(gateway, principal, tenant, tool);
}

export function noSuchTool(tool: string): string {
  return `Cannot call "${tool}": no such tool`;
}

/** What is kept of a call, as it is of a tool that is not there. */
export function asOfNoTool(kept: KeptResult): KeptResult {
  const { remedy } = CODES['registry/unknown-tool'];
  return { ...kept, code: 'registry/unknown-tool', message: noSuchTool(kept.tool), remedy };
}
