/** Types of WASM tools: what runs, and what it was granted. */
import type { Digest } from './digest.ts';

/** What a guest may do outside of itself. A capability has its handle by its place in its list; what is empty is absent. */
export type WasmGrants = {
  /** Entries of an allow-list, each a capability of its own; null: one that was asked for and not granted keeps its place. */
  readonly http: readonly (string | null)[];
  readonly secrets: readonly SecretGrant[];
  /** Prefixes of keys in the space of the tenant and the skill. */
  readonly storage: readonly { readonly read: readonly string[]; readonly write: readonly string[] }[];
  readonly channels: readonly {
    readonly name: string;
    readonly publish: boolean;
    readonly receive: boolean;
  }[];
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
  readonly scope?: 'global' | 'tenant' | 'principal' | 'skill';
  /** The only hosts that get the value, each with or without a port; without one that is 443 alone. None: nobody does. */
  readonly hosts: readonly string[];
};

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

/** A tool that is an export of a module. */
export type WasmProgram = {
  /** Whose storage it uses, and who it is to others. */
  readonly skill: string;
  readonly sha256: Digest;
  /** The bytes of the module; whoever takes them looks whether they are those of the digest. */
  readonly read: () => Promise<Uint8Array>;
  readonly exportName: string;
  readonly grants: WasmGrants;
  /** False: nothing is kept to run its calls again. */
  readonly isRecorded?: boolean;
};
