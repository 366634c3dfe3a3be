import type { Json, SignedEnvelope } from './parts.ts';

/** One line of the journal. */
export type JournalLine = {
  readonly at: string;
  readonly body: { readonly [key: string]: Json };
  readonly call: string | null;
  readonly kind: string;
  /** The hash of the record before. */
  readonly prev: string;
  readonly principal: string | null;
  readonly seq: number;
  readonly tenant: string | null;
  readonly tool: string | null;
  readonly v: 1;
};

export type JournalPage = { readonly records: readonly JournalLine[]; readonly cursor: string | null };

export type HashedRecords = { readonly records: readonly (JournalLine & { readonly hash: string })[] };

/** That a record is in the journal that a checkpoint is of. */
export type JournalProof = {
  readonly checkpoint: SignedEnvelope;
  readonly format: string;
  readonly path: readonly string[];
  readonly record: string;
};
