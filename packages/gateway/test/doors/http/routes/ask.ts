import { CODES, isCode } from '@palisade/sdk';
import { expect } from 'vitest';
import { ALL_SCOPES, type Caller, type Scope } from '../../../../src/core/caller.ts';
import { CodedError } from '../../../../src/core/coded-error.ts';
import { NO_LOG } from '../../../../src/core/log.ts';
import type { Principal } from '../../../../src/core/principal.ts';
import { requireScope } from '../../../../src/doors/http/caller.ts';
import type { Reply, Route, ServerEvent } from '../../../../src/doors/http/route.ts';
import { encodeEvent } from '../../../../src/doors/http/sse.ts';
import type { TestGateway } from '../../../fixture/gateway.ts';

/* One request to one row, as the door would pass it on: the scope, then what the row lets in, then the handler. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked at member by member.
export type Document = any;

export type Answer = { readonly status: number; readonly body: Document };

export type Request = {
  readonly as: Caller;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
};

export function callerOf(
  principal: Principal,
  scopes: readonly Scope[] = ALL_SCOPES,
  tenant = 'default',
): Caller {
  return { principal, tenant, scopes: new Set(scopes), credential: 'token:tok_test', approver: null };
}

/** The reply of the row of that name. What is thrown comes out as it is. */
export async function reply(
  gateway: TestGateway,
  routes: readonly Route[],
  name: string,
  request: Request,
): Promise<Reply> {
  const row = routes.find((each) => each.name === name);
  if (row === undefined) throw new Error(`there is no row ${name}`);
  requireScope(request.as, row.scope);
  const { headers = {}, signal = new AbortController().signal } = request;
  return row.handle({
    gateway,
    caller: request.as,
    params: letIn(row.params, request.params ?? {}),
    query: letIn(row.query, request.query ?? {}),
    body: row.body?.type === 'application/json' ? letIn(row.body.schema, request.body) : request.body,
    headers: Object.fromEntries(Object.keys(row.headers ?? {}).map((each) => [each, headers[each]])),
    signal,
    recheck: async () => undefined,
    log: NO_LOG,
  });
}

function letIn(schema: Route['params'] | Route['query'] | undefined | Document, value: unknown): unknown {
  if (schema === undefined) return value;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new CodedError('door/wrong-usage', `Cannot read: ${result.error.message}`);
}

/** What a client gets: a document that is held to the row's own schema, or a problem. */
export async function ask(
  gateway: TestGateway,
  routes: readonly Route[],
  name: string,
  request: Request,
): Promise<Answer> {
  try {
    const given = await reply(gateway, routes, name, request);
    if (given.kind === 'json') return held(routes, name, given);
    if (given.kind === 'problem' && isCode(given.code)) {
      const { code, detail, remedy, more } = given;
      return { status: CODES[code].httpStatus, body: { ...more, code, detail, remedy } };
    }
    throw new Error(`the reply is ${given.kind}`);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    const { code, message: detail, remedy } = error;
    return { status: CODES[code].httpStatus, body: { code, detail, remedy } };
  }
}

function held(
  routes: readonly Route[],
  name: string,
  { status, body }: Extract<Reply, { kind: 'json' }>,
): Answer {
  const schema = routes.find((each) => each.name === name)?.replies[status]?.schema;
  if (schema === undefined) throw new Error(`${name} has no schema for ${status}`);
  // What the schema does not name is dropped by it, and would be missing here.
  expect(schema.parse(body)).toEqual(body);
  return { status, body };
}

/** All events of a stream, as a client reads them off the wire. */
export async function listen(
  gateway: TestGateway,
  routes: readonly Route[],
  request: Request,
  onEvent: (event: ServerEvent) => void = () => undefined,
): Promise<readonly ServerEvent[]> {
  const headers = { accept: 'text/event-stream', ...request.headers };
  const given = await reply(gateway, routes, 'createCall', { ...request, headers });
  if (given.kind !== 'events') throw new Error(`the reply is ${given.kind}`);
  let wire = '';
  for await (const event of given.events) {
    onEvent(event);
    wire += encodeEvent(event);
  }
  return parseEvents(wire);
}

/** Reads a stream of events as browsers do: any of CR, LF and CRLF ends a line, an empty line ends an event. */
export function parseEvents(wire: string): readonly ServerEvent[] {
  const events: ServerEvent[] = [];
  let [event, data] = ['message', [] as string[]];
  for (const line of wire.split(/\r\n|\r|\n/)) {
    const [, field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (line === '' && data.length > 0) events.push({ event, data: JSON.parse(data.join('\n')) });
    if (line === '') [event, data] = ['message', []];
    else if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
  }
  return events;
}
