import type { Readable, Writable } from 'node:stream';
import type { Caller } from '../../../core/caller.ts';
import { type Principal, parsePrincipal } from '../../../core/principal.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { makeLog } from '../../../telemetry/log.ts';
import { makeMcp } from '../../mcp/index.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

/** Who a client is that was not told whom to be. Not what it calls itself: that would be its choice of rights. */
const ANYBODY: Principal = { kind: 'agent', name: 'mcp' };

/** It takes many calls, so that sandboxes may stand ready. */
const LASTING = { tools: [], isLasting: true };

export async function run(invocation: Invocation): Promise<number> {
  clientOf(invocation);
  return serveClient(invocation, await invocation.openGateway(LASTING));
}

/** Serves the client of this process until it goes away, and closes the gateway. */
export async function serveClient(invocation: Invocation, gateway: Opened<Gateway>): Promise<number> {
  const { edge, signal } = invocation;
  const principal = clientOf(invocation);
  const approver: Principal = { kind: 'user', name: edge.env.user ?? 'local' };
  const { clock, config, redact, policy } = gateway;
  const write = (line: string) => void edge.stderr.write(line);
  const log = makeLog({ level: config.log.level, clock, redact, write });
  if (policy.problems.length > 0) log('warn', 'policies-have-problems', { count: policy.problems.length });
  const mcp = makeMcp({ gateway, log, version: edge.version });
  // A client that is gone is like one that has closed our input.
  const unread = new AbortController();
  edge.whenUnread(() => unread.abort(new Error('nobody reads the output')));
  const { tenant } = config.gateway;
  const caller: Caller = {
    principal,
    tenant,
    scopes: new Set(['call']),
    credential: 'process',
    approver,
  };
  try {
    const until = AbortSignal.any([signal, unread.signal]);
    await mcp.serveStdio(edge.stdin as Readable, edge.stdout as Writable, caller, until);
  } finally {
    await mcp.close();
    await gateway.close();
  }
  return 0;
}

/** Whom the client is. */
export function clientOf(invocation: Invocation): Principal {
  const raw = textOf(invocation, 'as');
  if (raw === undefined) return ANYBODY;
  const principal = parsePrincipal(raw);
  if (principal !== null) return principal;
  throw wrongUsage(`Cannot serve "${raw}": expected agent:NAME, user:NAME or service:NAME`);
}
