/** The words of a look at a workspace. Paths are relative to it and written as `nameText` does. */

export type EntryKind =
  | 'file'
  | 'directory'
  | 'symlink'
  | 'fifo'
  | 'socket'
  | 'block-device'
  | 'character-device'
  | 'unknown';

/** What lstat said of one name. */
export type Entry = {
  readonly path: string;
  readonly kind: EntryKind;
  /** The permission bits, with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly nlink: number;
  /** Where a symbolic link points, as it is written there; null for everything else. */
  readonly target: string | null;
};

/**
 * Why a directory, or the facts of one name, are not in a snapshot. `too-large`: the bounds were reached;
 * `too-deep`: its path is longer than any program can open; `another-device`: something is mounted there;
 * `unreadable`: the system refused; `moved`: it was changed while we looked.
 */
export type GapReason = 'too-large' | 'too-deep' | 'another-device' | 'unreadable' | 'moved';

export type Gap = { readonly path: string; readonly why: GapReason };

export type Snapshot = {
  /** Every name that was seen, by its path; the workspace itself is `.`. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** All that was not seen: a directory whose names are not, or not all, among the entries. */
  readonly gaps: readonly Gap[];
  /** Whether there is no gap. */
  readonly complete: boolean;
};
