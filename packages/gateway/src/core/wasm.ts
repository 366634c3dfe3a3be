import type { Digest } from './digest.ts';

/**
 * The kinds of capabilities that a guest names by a handle: their number in the ABI, their first handle, and the list
 * of grants that they index. Everything else about a kind is in skills/capabilities.
 */
export const CAPABILITY_KINDS = {
  http: { number: 1, firstHandle: 10_000, list: 'http', sentence: 'Requests to one granted host.' },
  secret: {
    number: 2,
    firstHandle: 20_000,
    list: 'secrets',
    sentence: 'One secret, to be used or, where granted, read.',
  },
  storage: { number: 3, firstHandle: 30_000, list: 'storage', sentence: 'Keys below granted prefixes.' },
  channel: {
    number: 4,
    firstHandle: 40_000,
    list: 'channels',
    sentence: 'One channel, to publish to or receive from.',
  },
} as const;

export type CapabilityKind = keyof typeof CAPABILITY_KINDS;

/** What a module can be granted: capabilities by handle, and those that it either has or not. */
export type GrantKind = CapabilityKind | 'log' | 'clock' | 'random' | 'config';

/** What a guest may do outside of itself. A capability's handle is its position in its list; an empty list has none. */
export type WasmGrants = {
  /** Entries of an allow-list, each a separate capability; null: requested but not granted, to keep the positions. */
  readonly http: readonly (string | null)[];
  readonly secrets: readonly SecretGrant[];
  /** Prefixes of keys in the space of the tenant and the skill. */
  readonly storage: readonly StorageGrant[];
  readonly channels: readonly ChannelGrant[];
  readonly log: boolean;
  readonly clock: boolean;
  readonly random: boolean;
  /** Values by their keys; null: the guest has no configuration. */
  readonly config: Readonly<Record<string, string>> | null;
};

/** A secret that a guest may use in requests and, if specified, read. */
export type SecretGrant = {
  readonly name: string;
  readonly mayReveal: boolean;
  /** The only scope of the vault that it is taken from; left out: the most specific one that has it. */
  readonly scope?: SecretScope;
  /** The only hosts that get the value, each with or without a port; without one only 443. None: no host does. */
  readonly hosts: readonly string[];
};

/** Prefixes of keys that a guest may read, and those that it may write; neither includes the other. */
export type StorageGrant = { readonly read: readonly string[]; readonly write: readonly string[] };

export type ChannelGrant = { readonly name: string; readonly publish: boolean; readonly receive: boolean };

/** The capabilities that a skill requests. A guest knows a capability by its position in the list. */
export type Asks = Pick<WasmGrants, 'channels' | 'log' | 'clock' | 'random'> & {
  /** Entries of an allow-list. */
  readonly http: readonly string[];
  readonly secrets: readonly AskedSecret[];
  /** Prefixes of keys in the space of the skill; both empty: no storage. */
  readonly storage: StorageGrant;
  /** Keys whose values the operator provides; null: it has no configuration. */
  readonly config: readonly string[] | null;
  /** Whether it declares that its hosts are not all named. */
  readonly allowWildcards: boolean;
};

export type SecretScope = 'global' | 'tenant' | 'principal' | 'skill';

/** A secret that is requested, in the only scope of the vault that is searched for it. */
export type AskedSecret = SecretGrant & { readonly scope: SecretScope };

export const NO_GRANTS: WasmGrants = {
  http: [],
  secrets: [],
  storage: [],
  channels: [],
  log: false,
  clock: false,
  random: false,
  config: null,
};

/** How many capabilities of a kind there are, including those that were requested and withheld. */
export function countOf(grants: WasmGrants, kind: CapabilityKind): number {
  return grants[CAPABILITY_KINDS[kind].list].length;
}

export function hasGrant(grants: WasmGrants, kind: GrantKind): boolean {
  if (isCapabilityKind(kind)) return countOf(grants, kind) > 0;
  return kind === 'config' ? grants.config !== null : grants[kind];
}

export function isCapabilityKind(kind: string): kind is CapabilityKind {
  return Object.hasOwn(CAPABILITY_KINDS, kind);
}

/** A tool that is an export of a module. */
export type WasmProgram = {
  /** Whose storage it uses, and its identity to others. */
  readonly skill: string;
  readonly sha256: Digest;
  /** The bytes of the module; the reader checks that they match the digest. */
  readonly read: () => Promise<Uint8Array>;
  readonly exportName: string;
  readonly grants: WasmGrants;
  /** False: nothing is kept for a replay of its calls. */
  readonly isRecorded?: boolean;
  /** True: its channels are those of its skill alone, as for a test case. */
  readonly isAlone?: boolean;
  /** Answers its requests in a test, so that none is sent; left out: requests are made. */
  readonly answerRequest?: AnswerRequest;
};

/** A request of a guest in a test that its entry allows; a secret stands in a header as `[secret NAME]`. */
export type TestRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
};

export const TEST_FAILURES = ['denied', 'unavailable', 'tooSlow', 'tooLarge'] as const;

/** What a test answers: a response, or the error that the guest gets. */
export type TestAnswer =
  | { readonly error: (typeof TEST_FAILURES)[number] }
  | {
      readonly status: number;
      readonly headers: readonly (readonly [name: string, value: string])[];
      readonly body: Uint8Array;
    };

export type AnswerRequest = (request: TestRequest) => TestAnswer;

/** One grammar from manifest to configuration to run: no separator, quote or upper case, no dot or dash at an end. */
const CAPABILITY_NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

export const CAPABILITY_NAME_SHAPE =
  'up to 64 lower-case letters, digits and . _ - that begin and end with a letter or digit';

/** Whether a text can name a secret, a channel or a storage space. */
export function isCapabilityName(text: string): boolean {
  return CAPABILITY_NAME.test(text);
}
