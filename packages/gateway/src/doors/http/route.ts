import type { ZodObject, ZodType, z } from 'zod';
import type { Caller, Scope } from '../../core/caller.ts';
import type { Json } from '../../core/json.ts';
import type { Log } from '../../core/log.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import type { Opened } from '../../open.ts';

/*
 * One row for each thing that the HTTP door does. Routing, the check of what comes in, the scopes, the OpenAPI document
 * and the fuzzer are all made from these rows, so that none of them can differ from what runs.
 */

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** What a handler is given: everything was checked against the row, and who asks is known. */
export type Asked<P = unknown, Q = unknown, B = unknown> = {
  readonly gateway: Opened<Gateway>;
  readonly caller: Caller;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Header values by lower-case name, of those that the row names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Fires when the client is gone or the gateway has to stop. */
  readonly signal: AbortSignal;
  /** Throws once the credential is no longer good for this row; for what goes on after it was checked. */
  readonly recheck: () => Promise<void>;
  readonly log: Log;
};

/** One event of a stream. */
export type ServerEvent = { readonly event: string; readonly id?: string; readonly data: Json };

export type Reply =
  | { readonly kind: 'json'; readonly status: number; readonly body: Json }
  /** One of the code table, with more members for programs. */
  | {
      readonly kind: 'problem';
      readonly code: string;
      readonly detail: string;
      readonly more?: Readonly<Record<string, Json>>;
      readonly remedy?: string;
    }
  | { readonly kind: 'events'; readonly events: AsyncIterable<ServerEvent> }
  | {
      readonly kind: 'bytes';
      readonly type: string;
      readonly chunks: AsyncIterable<Uint8Array>;
      readonly name?: string;
    };

export type BodyRule<B extends ZodType> =
  | { readonly type: 'application/json'; readonly schema: B }
  /** The bytes as they are; the handler gets a Uint8Array. */
  | { readonly type: 'application/octet-stream'; readonly maxBytes: number };

export type RouteRow<P extends ZodObject, Q extends ZodObject, B extends ZodType> = {
  readonly method: Method;
  /** Parameters in braces: `/v1/calls/{id}`. */
  readonly path: string;
  /** The name of the operation in the OpenAPI document and of the method in the client: `getCall`. */
  readonly name: string;
  readonly tag: string;
  readonly sentence: string;
  /** What the credential must be good for; null: any credential. */
  readonly scope: Scope | null;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: BodyRule<B>;
  /** Headers that the handler reads: lower-case name → sentence. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What comes back when it went well; everything else is problem+json. */
  readonly replies: Readonly<
    Record<number, { readonly type: string; readonly schema?: ZodType; readonly sentence: string }>
  >;
  readonly handle: (
    asked: Asked<z.output<P>, z.output<Q>, B extends ZodType ? z.output<B> : unknown>,
  ) => Promise<Reply>;
};

/** A row whose types were checked where it was written. */
export type Route = Omit<RouteRow<ZodObject, ZodObject, ZodType>, 'handle'> & {
  readonly handle: (asked: Asked) => Promise<Reply>;
};

/** Ties the handler of a row to what the row lets in. */
export function route<P extends ZodObject, Q extends ZodObject, B extends ZodType>(
  row: RouteRow<P, Q, B>,
): Route {
  return row as unknown as Route;
}
