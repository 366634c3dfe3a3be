import { addressOf, type ParamsOf, type Query } from './address.ts';
import { type Connection, requireCount } from './connection.ts';
import { repeat } from './repeat.ts';
import { openReply, type Reply, type Request, readBytes, readJson, readText } from './reply.ts';
import { isSlow, type OperationName, ROUTES, repeatOf } from './routes.ts';
import type { Bodies, Replies } from './wire.ts';

/** What every method takes as its last argument. */
export type RequestOptions = {
  /** Ends the request; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Instead of that of the client. */
  readonly timeoutMs?: number | undefined;
};

type PathOf<Name extends OperationName> = (typeof ROUTES)[Name]['path'];

/** The arguments of an operation. A path without parameters takes none, and a body is required where there is one. */
export type OperationArguments<Name extends OperationName> = ([keyof ParamsOf<PathOf<Name>>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: ParamsOf<PathOf<Name>> }) &
  (Name extends keyof Bodies ? { readonly body: Bodies[Name] } : { readonly body?: undefined }) & {
    readonly query?: Query | undefined;
    readonly headers?: Readonly<Record<string, string>>;
    readonly options?: RequestOptions | undefined;
  };

export type JsonName = keyof Replies & OperationName;

/** Sends operations of the table over one connection. */
export type Sender = {
  readonly connection: Connection;
  /** Once; the reply is still to be read. */
  readonly open: <Name extends OperationName>(
    name: Name,
    args: OperationArguments<Name>,
    accept?: string,
  ) => Promise<Reply>;
  readonly json: <Name extends JsonName>(
    name: Name,
    args: OperationArguments<Name>,
  ) => Promise<Replies[Name]>;
  readonly text: <Name extends OperationName>(name: Name, args: OperationArguments<Name>) => Promise<string>;
  readonly bytes: <Name extends OperationName>(
    name: Name,
    args: OperationArguments<Name>,
  ) => Promise<Uint8Array>;
};

export const JSON_TYPE = 'application/json';
export const EVENTS_TYPE = 'text/event-stream';
/** How long slow operations may be silent. */
const SLOW_MS = 60 * 60_000;
const BYTES_TYPE = 'application/octet-stream';

/** Makes the only function through which a client sends. */
export function makeSender(connection: Connection): Sender {
  const open: Sender['open'] = (name, args, accept = '*/*') =>
    openReply(connection, requestOf(connection, name, args, accept));
  const whole = <Name extends OperationName, T>(
    name: Name,
    args: OperationArguments<Name>,
    read: (reply: Reply) => Promise<T>,
  ): Promise<T> => {
    const attempt = async () => {
      const reply = await open(name, args);
      try {
        return await read(reply);
      } finally {
        reply.close();
      }
    };
    const isRepeatable = repeatOf(name) === 'safe';
    return isRepeatable ? repeat(connection, args.options?.signal ?? null, attempt) : attempt();
  };
  return {
    connection,
    open,
    json: (name, args) => whole(name, args, (reply) => readJson<Replies[typeof name]>(reply)),
    text: (name, args) => whole(name, args, readText),
    bytes: (name, args) => whole(name, args, readBytes),
  };
}

function requestOf<Name extends OperationName>(
  { base, timeoutMs }: Connection,
  name: Name,
  { params, query, body, headers = {}, options = {} }: OperationArguments<Name>,
  accept: string,
): Request {
  const { method, path } = ROUTES[name];
  if (options.timeoutMs !== undefined) requireCount('timeoutMs', options.timeoutMs);
  const sent = encodeBody(body);
  return {
    method,
    accept,
    body: sent.body,
    url: addressOf(base, path, params ?? {}, query),
    headers: { ...sent.headers, ...headers },
    signal: options.signal ?? null,
    timeoutMs:
      options.timeoutMs ?? (isSlow(name) && timeoutMs !== 0 ? Math.max(timeoutMs, SLOW_MS) : timeoutMs),
  };
}

function encodeBody(body: unknown): Pick<Request, 'body' | 'headers'> {
  if (body === undefined) return { body: null, headers: {} };
  if (!(body instanceof Uint8Array || body instanceof Blob))
    return { body: JSON.stringify(body), headers: { 'content-type': JSON_TYPE } };
  const blob = body instanceof Blob ? body : new Blob([new Uint8Array(body)]);
  return { body: blob, headers: { 'content-type': BYTES_TYPE } };
}
