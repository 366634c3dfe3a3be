/** The vocabulary of WASM tools: what runs, which capabilities exist, what a skill asks for and what it was granted. */
import type { Digest } from './digest.ts';

/**
 * The kinds of capabilities that a guest names by a handle: their number in the ABI, where their handles begin, and the
 * list of the grants that they are counted in. All that a kind means to people is in skills/capabilities.
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

/** What a module can be granted: capabilities by handle, and what it has or has not. */
export type GrantKind = CapabilityKind | 'log' | 'clock' | 'random' | 'config';

/** What a guest may do outside of itself. A capability has its handle by its position in its list; what is empty is absent. */
export type WasmGrants = {
  /** Entries of an allow-list, each a capability of its own; null: one that was asked for and not granted keeps its position. */
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

/** A secret that a guest may use in requests and, where it says so, read. */
export type SecretGrant = {
  readonly name: string;
  readonly mayReveal: boolean;
  /** The one scope of the vault that it is taken from; left out: the most specific that has it. */
  readonly scope?: SecretScope;
  /** The only hosts that get the value, each with or without a port; without one that is 443 alone. None: no host does. */
  readonly hosts: readonly string[];
};

/** Prefixes of keys that a guest may read, and those that it may write; neither includes the other. */
export type StorageGrant = { readonly read: readonly string[]; readonly write: readonly string[] };

export type ChannelGrant = { readonly name: string; readonly publish: boolean; readonly receive: boolean };

/** The capabilities that a skill asks for. The position in its list is what a guest knows a capability by. */
export type Asks = {
  /** Entries of an allow-list. */
  readonly http: readonly string[];
  readonly secrets: readonly AskedSecret[];
  /** Prefixes of keys in the space of the skill; both empty: no storage. */
  readonly storage: StorageGrant;
  readonly channels: readonly ChannelGrant[];
  readonly log: boolean;
  readonly clock: boolean;
  readonly random: boolean;
  /** Keys whose values the operator gives; null: it has no configuration. */
  readonly config: readonly string[] | null;
  /** Whether it says itself that its hosts are not all named. */
  readonly allowWildcards: boolean;
};

export type SecretScope = 'global' | 'tenant' | 'principal' | 'skill';

/** A secret that is asked for, in the one scope of the vault that it is looked for in. */
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

/** How many capabilities of a kind there are, with those that were asked for and withheld. */
export function countOf(grants: WasmGrants, kind: CapabilityKind): number {
  return grants[CAPABILITY_KINDS[kind].list].length;
}

/** Whether anything of this kind was granted. */
export function hasGrant(grants: WasmGrants, kind: GrantKind): boolean {
  if (isCapabilityKind(kind)) return countOf(grants, kind) > 0;
  return kind === 'config' ? grants.config !== null : grants[kind];
}

export function isCapabilityKind(kind: string): kind is CapabilityKind {
  return Object.hasOwn(CAPABILITY_KINDS, kind);
}

/** A tool that is an export of a module. */
export type WasmProgram = {
  /** Whose storage it uses, and who it is to others. */
  readonly skill: string;
  readonly sha256: Digest;
  /** The bytes of the module; the reader checks that they are those of the digest. */
  readonly read: () => Promise<Uint8Array>;
  readonly exportName: string;
  readonly grants: WasmGrants;
  /** False: nothing is kept to run its calls again. */
  readonly isRecorded?: boolean;
};

/** One grammar from manifest to configuration to run: no separator, quote or upper case, no dot or dash at an end. */
const CAPABILITY_NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** What messages call the grammar. */
export const CAPABILITY_NAME_SHAPE =
  'up to 64 lower-case letters, digits and . _ - that begin and end with a letter or digit';

/** Tells whether a text can name a secret, a channel or a storage space. */
export function isCapabilityName(text: string): boolean {
  return CAPABILITY_NAME.test(text);
}
