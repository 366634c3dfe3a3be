import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Caller, Scope } from '../../../src/core/caller.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { HttpApp, type HttpParts } from '../../../src/doors/http/app.ts';
import { type HttpDoor, openHttpDoor } from '../../../src/doors/http/listen.ts';
import type { Authenticator } from '../../../src/identity/authenticate.ts';
import { doorCall, invoke } from '../../../src/invoke/invoke.ts';
import {
  EventStream,
  type Operation,
  OperationProblem,
  operation,
  type ServerEvent,
} from '../../../src/operations/operation.ts';
import { wholeNumber } from '../../../src/operations/schema-parts.ts';
import { ADA, openTestGateway, PERMIT_ALL, type TestGateway } from '../../fixture/gateway.ts';

/* A door with a small table of its own: what is tested is the door, not what stands behind it. */

const row = {
  noun: 'test',
  sentence: 'For a test.',
  scope: null,
  opens: 'gateway',
  output: { sentence: 'It.' },
} as const;

/** What the rows have seen, so that a test can tell a request that was let in from one that was not. */
export type Seen = { readonly names: string[]; readonly signals: AbortSignal[] };

function testOperations(seen: Seen): readonly Operation[] {
  return [
    operation({
      ...row,
      ...{ name: 'echo', http: { method: 'POST', path: '/t/echo' } },
      input: z.strictObject({ message: z.string() }),
      handle: ({ caller }, input) => {
        seen.names.push('echo');
        return { ...input, by: caller.principal.name };
      },
    }),
    operation({
      ...row,
      name: 'upload',
      http: { method: 'POST', path: '/t/bytes', bytes: { member: 'bytes', maxBytes: 2048 } },
      input: z.strictObject({ bytes: z.instanceof(Uint8Array) }),
      handle: (_, { bytes }) => ({ bytes: bytes.length }),
    }),
    operation({
      ...row,
      ...{ name: 'item', http: { method: 'GET', path: '/t/items/{id}' } },
      input: z.strictObject({ id: z.string(), limit: wholeNumber(1, 10).default(3) }),
      handle: (_, input) => input,
    }),
    operation({
      ...row,
      ...{ name: 'remove', scope: 'admin', http: { method: 'DELETE', path: '/t/items/{id}' } },
      input: z.strictObject({ id: z.string() }),
      handle: () => ({}),
    }),
    operation({
      ...row,
      ...{ name: 'events', http: { method: 'GET', path: '/t/events' } },
      input: z.strictObject({}),
      handle: ({ signal }) => {
        seen.signals.push(signal);
        return new EventStream(eventsUntil(signal));
      },
    }),
    operation({
      ...row,
      ...{ name: 'fault', http: { method: 'GET', path: '/t/fault' } },
      input: z.strictObject({}),
      handle: () => {
        throw new Error('the secret reason');
      },
    }),
    operation({
      ...row,
      ...{ name: 'open', http: { method: 'GET', path: '/t/open' } },
      input: z.strictObject({}),
      handle: () => {
        throw new OperationProblem('door/call-open', 'Cannot call: it is running', { more: { callId: 'x' } });
      },
    }),
    operation({
      ...row,
      ...{ name: 'createCall', scope: 'call', http: { method: 'POST', path: '/v1/calls' } },
      input: z.strictObject({ tool: z.string(), input: z.any().optional() }),
      handle: async ({ gateway, caller, signal }, { tool, input }) => {
        seen.signals.push(signal);
        const call = doorCall(gateway, caller, { tool, rawInput: JSON.stringify(input ?? {}), door: 'http' });
        const { outcome, callId } = await invoke(gateway, call, signal);
        return { callId, code: outcome.code };
      },
    }),
  ];
}

async function* eventsUntil(signal: AbortSignal): AsyncGenerator<ServerEvent> {
  yield { event: 'first', id: '1', data: { text: 'a\n\ndata: forged' } };
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Tokens are the scopes that they are good for, as `read+call`. */
export const authenticate: Authenticator = async ({ authorization }) => {
  if (authorization === null) return { ok: false, reason: 'missing', message: 'Cannot tell who asks' };
  const [, token] = /^Bearer ([a-z+]+)$/.exec(authorization) ?? [];
  if (token === undefined) return { ok: false, reason: 'invalid', message: 'Cannot tell who asks' };
  const scopes = new Set(token.split('+') as Scope[]);
  const caller: Caller = { principal: ADA, tenant: 'default', scopes, credential: token, approver: null };
  return { ok: true, caller };
};

export type OpenedDoor = {
  readonly door: HttpDoor;
  readonly port: number;
  readonly gateway: TestGateway;
  readonly seen: Seen;
  readonly logged: string[];
  readonly socketPath: string;
  readonly ask: (path: string, how?: How) => Promise<Answer>;
};

export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes.
  readonly json: any;
};
export type How = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly socketPath?: string;
  readonly signal?: AbortSignal;
};

export type Wishes = {
  readonly toml?: string;
  readonly policies?: string;
  readonly parts?: Partial<HttpParts>;
};

/** A door on a free port and a socket, closed with the test. */
export async function openTestDoor(wishes: Wishes = {}): Promise<OpenedDoor> {
  const { toml = '', policies = PERMIT_ALL, parts = {} } = wishes;
  const gateway = await openTestGateway({ policies, toml });
  const seen: Seen = { names: [], signals: [] };
  const logged: string[] = [];
  const socketPath = join(gateway.stateDir, 'palisade.sock');
  const door = await openHttpDoor({ listen: '127.0.0.1:0', socketPath, http: gateway.config.http });
  onTestFinished(() => door.close(0));
  door.serve(
    new HttpApp({
      ...{ gateway, operations: testOperations(seen), authenticate, url: door.url, host: door.host },
      log: (level, event, facts) =>
        level === 'error' ? logged.push(JSON.stringify({ event, ...facts })) : NO_LOG(level, event),
      metrics: async () => 'palisade_up 1\n',
      mcp: async (request) => Response.json({ echo: await request.text(), method: request.method }),
      openApi: '{}',
      docs: [],
      ...parts,
    }),
  );
  const { port } = door;
  return { door, port, gateway, seen, logged, socketPath, ask: (path, how) => ask(port, path, how) };
}

/** One request as it stands, without anything that a client of more comfort would add or repair. */
export function ask(port: number, path: string, how: How = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, socketPath, signal } = how;
  const where = socketPath === undefined ? { host: '127.0.0.1', port } : { socketPath };
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const length = bytes === undefined ? {} : { 'content-length': String(bytes.length) };
  return new Promise((resolve, reject) => {
    const sent = httpRequest({
      ...where,
      ...{ method, path, agent: false, headers: { ...length, ...headers } },
      ...(signal === undefined ? {} : { signal }),
    });
    sent.once('error', reject);
    sent.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          ...{ status: response.statusCode ?? 0, headers: response.headers, text },
          get json() {
            return JSON.parse(text);
          },
        }),
      );
    });
    sent.end(bytes);
  });
}

export const JSON_BODY = { 'content-type': 'application/json' };
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Sends bytes on a connection of its own and gives all that comes back until the other side closes it. */
export function sendBytes(
  port: number,
  bytes: string | Uint8Array,
  then: 'wait' | 'half-close' = 'wait',
): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
      socket.write(bytes);
      if (then === 'half-close') socket.end();
    });
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket
      .on('error', () => resolve(text))
      .once('end', () => {
        socket.destroy();
        resolve(text);
      });
  });
}
