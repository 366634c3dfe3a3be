import { type Envelope, parseEnvelope, readEnvelope } from './envelope.ts';
import { type KeyRing, keyInUse } from './key-ring.ts';
import { openEnvelope, type Verification } from './open-envelope.ts';
import { type Primitives, webPrimitives } from './primitives.ts';
import { allOk, type Check, type Found, note } from './report.ts';
import { constant, hash, instant, objectOf, positiveInteger, type Shape } from './shape.ts';

export const CHECKPOINT_PAYLOAD_TYPE = 'application/vnd.palisade.checkpoint+json';

/** What a gateway signs about its whole journal at one size. */
export type Checkpoint = {
  readonly at: string;
  /** The hash of record number `size`. */
  readonly head: string;
  /** The hash of record 1, which identifies a journal. */
  readonly origin: string;
  /** The Merkle root over the first `size` records. */
  readonly root: string;
  readonly size: number;
  readonly v: 1;
};

export type CheckpointReport = {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly checkpoint: Checkpoint | null;
};

const CHECKPOINT: Shape = objectOf({
  at: instant,
  head: hash,
  origin: hash,
  root: hash,
  size: positiveInteger,
  v: constant(1),
});

/** Verifies a checkpoint that was saved on its own. */
export async function verifyCheckpoint(
  raw: string | Uint8Array,
  keys: KeyRing,
  primitives: Primitives = webPrimitives,
): Promise<CheckpointReport> {
  const verification: Verification = { checks: [], keys, primitives };
  const checkpoint = await checkCheckpoint(verification, readEnvelope(raw, CHECKPOINT_PAYLOAD_TYPE));
  return { ok: allOk(verification.checks), checks: verification.checks, checkpoint };
}

/** The envelope of a checkpoint inside another document. */
export function parseCheckpointEnvelope(value: unknown): Found<Envelope> {
  return parseEnvelope(value, CHECKPOINT_PAYLOAD_TYPE);
}

/** Notes every check of a checkpoint; null when one fails. */
export async function checkCheckpoint(
  verification: Verification,
  envelope: Found<Envelope>,
  what = 'checkpoint',
): Promise<Checkpoint | null> {
  const opened = await openEnvelope(verification, envelope, { what, shape: CHECKPOINT });
  if (opened === null) return null;
  const checkpoint = opened.value as Checkpoint;
  const inUse = keyInUse(opened.key, checkpoint.at);
  return note(verification.checks, `The key was in use at the ${what}`, inUse) === null ? null : checkpoint;
}
