import { fromHex, toHex } from './bytes.ts';
import { canonicalize } from './canonical.ts';
import { type Checkpoint, checkCheckpoint, parseCheckpointEnvelope } from './checkpoint.ts';
import { readDocument, readText } from './document.ts';
import type { KeyRing } from './key-ring.ts';
import { inclusionRoot } from './merkle.ts';
import type { Verification } from './open-envelope.ts';
import { type Primitives, webPrimitives } from './primitives.ts';
import { hashRecord, type JournalRecord, parseRecord } from './record.ts';
import { allOk, type Check, type Found, found, judge, missed, note } from './report.ts';
import { anyObject, constant, describeMismatch, hash, listOf, objectOf, type Shape, text } from './shape.ts';

export const PROOF_FORMAT = 'palisade-proof/v1';

/** A record, the sibling hashes from its leaf to the root, and the checkpoint that signs the root. */
export type Proof = {
  readonly checkpoint: unknown;
  readonly path: readonly string[];
  readonly record: string;
};

export type ProofReport = {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly record: JournalRecord | null;
};

const PROOF: Shape = objectOf({
  checkpoint: anyObject,
  format: constant(PROOF_FORMAT),
  path: listOf(hash),
  record: text,
});

/** The text of a proof, without a line feed; the checkpoint is handed in as the text of its envelope. */
export function encodeProof(proof: { checkpoint: string; path: readonly string[]; record: string }): string {
  const { path, record } = proof;
  return canonicalize({ checkpoint: JSON.parse(proof.checkpoint), format: PROOF_FORMAT, path, record });
}

/** Verifies that a signed checkpoint covers the record in a proof. */
export async function verifyProof(
  raw: string | Uint8Array,
  keys: KeyRing,
  primitives: Primitives = webPrimitives,
): Promise<ProofReport> {
  const verification: Verification = { checks: [], keys, primitives };
  const record = await checkProof(verification, raw);
  return { ok: allOk(verification.checks), checks: verification.checks, record };
}

/** Notes every check of a proof; null when one fails. */
export async function checkProof(
  verification: Verification,
  raw: string | Uint8Array,
): Promise<JournalRecord | null> {
  const { checks } = verification;
  const proof = note(checks, 'The proof is well formed', readProof(raw));
  if (proof === null) return null;
  const record = note(checks, 'The proof holds a journal record', parseRecord(proof.record));
  if (record === null) return null;
  const checkpoint = await checkCheckpoint(verification, parseCheckpointEnvelope(proof.checkpoint));
  if (checkpoint === null) return null;
  const included = await findInclusion(proof, record, { checkpoint, verification });
  return note(checks, 'The checkpoint covers the record', included) === null ? null : record;
}

function readProof(raw: string | Uint8Array): Found<Proof> {
  const read = readText(raw);
  if (!read.ok) return read;
  const document = readDocument(read.value);
  if (!document.ok) return document;
  const mismatch = PROOF(document.value.value);
  return mismatch === null
    ? found(document.value.value as Proof, PROOF_FORMAT)
    : missed(describeMismatch(mismatch));
}

async function findInclusion(
  proof: Proof,
  record: JournalRecord,
  { checkpoint, verification }: { checkpoint: Checkpoint; verification: Verification },
): Promise<Found<true>> {
  const { size, root } = checkpoint;
  const leaf = await hashRecord(proof.record, verification.primitives);
  const path = proof.path.map((step) => fromHex(step) ?? new Uint8Array());
  const reached = await inclusionRoot({ leaf, index: record.seq - 1, size, path }, verification.primitives);
  if (reached === null) {
    return missed(
      `a path of ${path.length} hashes does not lead from record ${record.seq} to a root over ${size}`,
    );
  }
  const is = `record ${record.seq} of ${size} leads to root "${toHex(reached)}"`;
  return judge(toHex(reached) === root, is, `${is}, expected "${root}"`);
}
