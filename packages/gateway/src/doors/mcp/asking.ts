import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Principal } from '../../core/principal.ts';
import type { Client, Door } from './door.ts';

/* Who can be asked at a client, and what the client said that it can show. */

export type Asking = {
  readonly door: Door;
  readonly client: Client;
  readonly server: Server;
  readonly ctx: ServerContext;
};

/** The person who may be prompted here; null: no one. */
export function approverHere(asking: Asking): Principal | null {
  return showsForms(asking) ? asking.client.caller.approver : null;
}

/** Whether the operator permits forms here and the client shows them. */
export function showsForms(asking: Asking): boolean {
  const { door, client } = asking;
  const { elicitation } = door.gateway.config.mcp;
  const isPermitted = elicitation === 'on' || (elicitation === 'stdio' && client.transport === 'stdio');
  return isPermitted && canShowForm(declaredBy(asking));
}

/** What the client declares: with each request, or in its handshake. */
export function declaredBy({ client, server, ctx }: Asking): ClientCapabilities {
  const envelope: Readonly<Record<string, unknown>> = ctx.mcpReq.envelope ?? {};
  const isModern = client.era === 'modern';
  const declared = isModern ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
  return (declared ?? {}) as ClientCapabilities;
}

/** A client that names no mode of elicitation means forms. */
function canShowForm({ elicitation }: ClientCapabilities): boolean {
  if (elicitation === undefined) return false;
  return elicitation.form !== undefined || elicitation.url === undefined;
}
