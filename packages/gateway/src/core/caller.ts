import type { CallSource } from './call.ts';
import { isName, type Principal } from './principal.ts';

/** What a credential may be used for. It only narrows: the policies still decide about every action. */
export const SCOPES = {
  call: 'Call tools, list them, and see and cancel calls of one’s own.',
  read: 'Read calls of others, the journal, budgets, policies, skills and the state of the gateway.',
  approve: 'Decide approval requests.',
  skills: 'Install, audit, approve and withdraw skills, and say whose are trusted.',
  policy: 'Replace the policies.',
  secrets: 'Set and remove secrets.',
  admin:
    'Make and revoke tokens, rotate keys, undo commands, accept changed upstream servers, use channels, and see and delete what skills have stored.',
} as const;

export type Scope = keyof typeof SCOPES;

export const ALL_SCOPES = Object.keys(SCOPES) as readonly Scope[];

/** The identity of a caller, from its credential. It is never taken from the body of a request. */
export type Caller = {
  readonly principal: Principal;
  readonly tenant: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Names the credential in records and limits, and is not a secret: `token:tok_…`, `oauth:…`, `process`. */
  readonly credential: string;
  /** The device, and the client or the way in, that the credential was issued for; absent: none. */
  readonly device?: string;
  readonly channel?: string;
  /** How many sessions of its own the credential may begin in the time that a session may be idle; absent: none. */
  readonly sessions?: number;
  /** The person at the client who may be asked there; null: none. */
  readonly approver: Principal | null;
};

/** Where a call of this caller comes from. Nothing in a request adds to it. */
export function sourceOf({ credential, device, channel }: Caller): CallSource {
  return { credential, ...placeOf({ device, channel }) };
}

type Place = { readonly device?: string | undefined; readonly channel?: string | undefined };

/** Device and channel, without those that are absent. */
export function placeOf({ device, channel }: Place): Pick<CallSource, 'device' | 'channel'> {
  return { ...(device === undefined ? {} : { device }), ...(channel === undefined ? {} : { channel }) };
}

/** Names of doors: a channel that has one of them could be mistaken for the door. */
const DOORS: ReadonlySet<string> = new Set(['cli', 'mcp', 'http', 'upstream', 'background', 'stdio']);

/** What a credential may name as its channel. */
export function isChannelName(text: string): boolean {
  return isName(text) && !DOORS.has(text);
}
