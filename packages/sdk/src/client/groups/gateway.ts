import { toUtf8 } from '../../bytes.ts';
import { type PageAsked, pagesOf } from '../pages.ts';
import { PalisadeError } from '../palisade-error.ts';
import type { RequestOptions, Sender } from '../send.ts';
import type {
  CheckPoliciesRequest,
  ExplainRequest,
  ReplacePoliciesRequest,
  SessionDocument,
  SessionPage,
  SessionRequest,
  TestPoliciesRequest,
  TokenDocument,
  TokenPage,
  TokenRequest,
} from '../wire.ts';

export function makePolicies(send: Sender) {
  return {
    get: (options?: RequestOptions) => send.json('getPolicies', { options }),
    /** Checks files without using them; without any, those of the gateway. `ok` may be false. */
    check: (body: CheckPoliciesRequest = {}, options?: RequestOptions) =>
      send.json('checkPolicies', { body, options }),
    /** Why a call would be allowed or not; nothing is run or recorded. */
    explain: (body: ExplainRequest, options?: RequestOptions) => send.json('explainCall', { body, options }),
    /** How test cases end under the policies that decide; `failed` counts those that did not pass. */
    test: (body: TestPoliciesRequest, options?: RequestOptions) =>
      send.json('testPolicies', { body, options }),
    /** Replaces all files at once, if they are valid and have not changed since `ifDigest` was seen. */
    replace: (body: ReplacePoliciesRequest, options?: RequestOptions) =>
      send.json('replacePolicies', { body, options }),
  };
}

/** Whose calls a secret is for; left out: those of every caller. */
export type OfScope = { readonly scope?: string | undefined };

/** Secrets go in and never come out. */
export function makeSecrets(send: Sender) {
  return {
    list: (options?: RequestOptions) => send.json('listSecrets', { options }),
    /** Sets the value, to the byte. */
    set: (name: string, value: string | Uint8Array, query?: OfScope, options?: RequestOptions) => {
      const body = typeof value === 'string' ? toUtf8(value) : value;
      return send.json('setSecret', { params: { name }, body, query, options });
    },
    remove: (name: string, query?: OfScope, options?: RequestOptions) =>
      send.json('removeSecret', { params: { name }, query, options }),
  };
}

/** The keys that receipts and checkpoints are signed with. */
export function makeKeys(send: Sender) {
  return {
    list: (options?: RequestOptions) => send.json('listKeys', { options }),
    /** The public keys, as `parseKeyRing` takes them. Verifiers must get them from another source than the receipts. */
    export: (options?: RequestOptions) => send.text('exportKeys', { options }),
    rotate: (options?: RequestOptions) => send.json('rotateKey', { options }),
  };
}

/** A tenant other than that of the caller has no tokens for it. */
export type TokensAsked = PageAsked & { readonly tenant?: string | undefined };

/** Tokens of the tenant of this caller. */
export function makeTokens(send: Sender) {
  return {
    ...pagesOf<TokensAsked, TokenPage, TokenDocument>(
      (query, options) => send.json('listTokens', { query, options }),
      ({ tokens }) => tokens,
    ),
    /** Makes a token. Its text is in this document and never again. */
    create: (body: TokenRequest, options?: RequestOptions) => send.json('createToken', { body, options }),
    revoke: (id: string, options?: RequestOptions) => send.json('revokeToken', { params: { id }, options }),
  };
}

/** Only sessions in this state. */
export type SessionsAsked = PageAsked & { readonly state?: 'open' | 'ended' | undefined };

/** Sessions: what budgets per run count by. */
export function makeSessions(send: Sender) {
  return {
    ...pagesOf<SessionsAsked, SessionPage, SessionDocument>(
      (query, options) => send.json('listSessions', { query, options }),
      ({ sessions }) => sessions,
    ),
    get: (id: string, options?: RequestOptions) => send.json('getSession', { params: { id }, options }),
    /** Begins one for calls that name its id as their `run`, if the token of this client may. */
    begin: (body: SessionRequest = {}, options?: RequestOptions) =>
      send.json('beginSession', { body, options }),
    end: (id: string, options?: RequestOptions) => send.json('endSession', { params: { id }, options }),
  };
}

/** Whether the gateway runs, and whether it accepts calls. Both send one request and report the current state. */
export function makeHealth(send: Sender) {
  const answers = async (name: 'getHealth' | 'getReadiness', options?: RequestOptions) => {
    try {
      (await send.open(name, { options })).close();
      return true;
    } catch (error) {
      if (error instanceof PalisadeError) return false;
      throw error;
    }
  };
  return {
    live: (options?: RequestOptions) => answers('getHealth', options),
    ready: (options?: RequestOptions) => answers('getReadiness', options),
  };
}
