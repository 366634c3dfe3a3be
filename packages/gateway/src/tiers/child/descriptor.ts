/**
 * The descriptors of a run, which its launcher finds from number 3 on: one union for plans, which open nothing and know
 * files by name, for the child, whose files are open, and for the starter, which is sent a word for each.
 */
import type { AsRoot } from '../../core/process.ts';
import { MAX_STATUS_BYTES } from './status.ts';

export type Descriptor = NamedDescriptor | OpenDescriptor;

/** Opened when the run begins. */
type NamedDescriptor =
  /** The options of bubblewrap, a NUL after each. */
  | { readonly role: 'args' }
  /** The launcher's file, opened anew for each run: it is read from the descriptor's offset. */
  | { readonly role: 'launcher' }
  | { readonly role: 'workspace' }
  /** A path in the workspace, opened without following a link, or the run is refused. */
  | { readonly role: 'pinned' | 'protected'; readonly path: string }
  | { readonly role: 'cgroup'; readonly index: number };

export type OpenDescriptor =
  /** A descriptor of ours; it stays ours to close. It is for reading, unless it says otherwise. */
  | { readonly role: 'open'; readonly fd: number; readonly writes?: true }
  /** We write these and close our end. */
  | { readonly role: 'bytes'; readonly name?: string; readonly bytes: Uint8Array | string }
  /** Where the launcher reports: we read this much and drop the rest. */
  | { readonly role: 'status'; readonly maxBytes: number }
  /** We keep our end open until the child shall end. */
  | { readonly role: 'control' }
  /** The caller writes the arguments of the launcher there, once. */
  | { readonly role: 'words' }
  /** What the child reads, or writes, while both sides exist; our end is the caller's. */
  | { readonly role: 'stream'; readonly way: 'in' | 'out' }
  /** This many listening sockets come back from there; only the starter can take them. */
  | { readonly role: 'handles'; readonly count: number }
  /** A user namespace in which the owner of files is another user; only the starter can make it. */
  | ({ readonly role: 'map' } & AsRoot);

/** After standard input, output and error. */
export const FIRST_DESCRIPTOR = 3;

/** Where the launcher reports, with room for the mounts of any machine. */
export const STATUS = { role: 'status', maxBytes: MAX_STATUS_BYTES } as const;

/** Gives a descriptor the next number. */
export type AddDescriptor = (descriptor: Descriptor) => number;

/** Lays descriptors out: each gets the next number, and the list has them in that order. */
export function layOutDescriptors(): {
  readonly list: readonly Descriptor[];
  readonly add: AddDescriptor;
  /** The number of the first one with this role. */
  readonly numberOf: (role: Descriptor['role']) => number;
} {
  const list: Descriptor[] = [];
  return {
    list,
    add: (descriptor) => FIRST_DESCRIPTOR - 1 + list.push(descriptor),
    numberOf: (wanted) => FIRST_DESCRIPTOR + list.findIndex(({ role }) => role === wanted),
  };
}
