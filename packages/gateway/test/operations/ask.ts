import { CODES } from '@palisade/sdk';
import { expect } from 'vitest';
import { ALL_SCOPES, type Caller, type Scope } from '../../src/core/caller.ts';
import { CodedError } from '../../src/core/coded-error.ts';
import type { Principal } from '../../src/core/principal.ts';
import { encodeEvent } from '../../src/doors/http/answer.ts';
import { acceptsEvents } from '../../src/doors/http/request.ts';
import { OPERATIONS } from '../../src/operations/all.ts';
import {
  ByteStream,
  EventStream,
  type Operation,
  OperationProblem,
  type OperationResult,
  perform,
  type ServerEvent,
} from '../../src/operations/operation.ts';
import type { TestGateway } from '../fixture/gateway.ts';

/* One operation as a door runs it: the scope, then what its row lets in, then the handler. */

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

/** What the operation of that name gives. What is thrown comes out as it is. */
export function reply(gateway: TestGateway, name: string, request: Request): Promise<OperationResult> {
  const { as: caller, signal = new AbortController().signal } = request;
  const context = { gateway, caller, door: 'http', signal, recheck: async () => undefined } as const;
  const row = rowOf(name);
  return perform(row, context, inputOf(row, request));
}

function rowOf(name: string): Operation {
  const row = OPERATIONS.find((each) => each.name === name);
  if (row === undefined) throw new Error(`there is no operation ${name}`);
  return row;
}

/** The input as the HTTP door would gather it. */
function inputOf({ http }: Operation, { params, query, body, headers = {} }: Request): object {
  const named = Object.entries(http.headers ?? {}).flatMap(([header, { member }]) => {
    const value = headers[header];
    if (header === 'accept') return [[member, acceptsEvents(value)]];
    return value === undefined ? [] : [[member, value]];
  });
  const sent = http.bytes === undefined ? (body as object | undefined) : { [http.bytes.member]: body };
  return { ...sent, ...query, ...Object.fromEntries(named), ...params };
}

/** What a client gets: a document that is held to the operation's own schema, or a problem. */
export async function ask(gateway: TestGateway, name: string, request: Request): Promise<Answer> {
  try {
    return held(rowOf(name), await reply(gateway, name, request));
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    const { code, message: detail, remedy } = error;
    const more = error instanceof OperationProblem ? error.more : {};
    // Whatever a problem says besides is in the OpenAPI document, and nothing else is.
    if (error instanceof OperationProblem)
      expect(rowOf(name).output.problem?.strict().safeParse(more)).toMatchObject({ success: true });
    return { status: CODES[code].httpStatus, body: { ...more, code, detail, remedy } };
  }
}

function held({ name, output: { schema, created } }: Operation, document: OperationResult): Answer {
  if (document instanceof EventStream || document instanceof ByteStream) throw new Error('it is a stream');
  if (schema === undefined) throw new Error(`${name} has no schema`);
  // What the schema does not name is dropped by it, and would be missing here.
  expect(schema.parse(document)).toEqual(document);
  return { status: created === true || created?.when(document) === true ? 201 : 200, body: document };
}

/** All events of a stream, as a client reads them off the wire. */
export async function listen(
  gateway: TestGateway,
  request: Request,
  onEvent: (event: ServerEvent) => void = () => undefined,
): Promise<readonly ServerEvent[]> {
  const headers = { accept: 'text/event-stream', ...request.headers };
  const supplied = await reply(gateway, 'createCall', { ...request, headers });
  if (!(supplied instanceof EventStream)) throw new Error('it is not a stream of events');
  let wire = '';
  for await (const event of supplied.events) {
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

/** All bytes of a result that is a file. */
export async function bytesOf(supplied: OperationResult): Promise<Buffer> {
  if (!(supplied instanceof ByteStream)) throw new Error('it is not a stream of bytes');
  const chunks: Uint8Array[] = [];
  for await (const chunk of supplied.chunks) chunks.push(chunk);
  return Buffer.concat(chunks);
}
