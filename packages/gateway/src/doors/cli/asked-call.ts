import type { ToolCall } from '../../core/call.ts';
import { makeId } from '../../core/clock.ts';
import type { Principal } from '../../core/principal.ts';
import type { Edge } from './verb.ts';

type Asked = {
  readonly principal: Principal;
  readonly tenant: string;
  readonly tool: string;
  readonly rawInput: string | Uint8Array;
  readonly run?: string | null;
  readonly timeoutMs?: number | null;
};

/** A call as this door hands it in. */
export function callOf({ clock, random }: Edge, asked: Asked): ToolCall {
  const receivedAtMs = clock.nowMs();
  const id = makeId('call', receivedAtMs, random);
  return { run: null, timeoutMs: null, ...asked, id, door: 'cli', receivedAtMs };
}
