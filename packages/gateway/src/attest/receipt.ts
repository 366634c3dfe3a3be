import {
  canonicalize,
  type Predicate,
  RECEIPT_PREDICATE_TYPE,
  STATEMENT_TYPE,
  type Statement,
} from '@palisade/sdk';
import { type Digest, digestBytes } from '../core/digest.ts';
import type { Signer } from './keys.ts';

/** All that a receipt says, but for its place in the journal and the time of its ending, which the journal gives. */
export type ReceiptFacts = Omit<Predicate, 'journal' | 'call'> & {
  readonly call: Omit<Predicate['call'], 'endedAt'>;
  readonly inputDigest: Digest;
  readonly outputDigest: Digest | null;
};

/** The place in the journal where the digest of the receipt will stand. */
export type Place = { readonly seq: number; readonly prev: string; readonly at: string };

export type SignedReceipt = { readonly envelope: string; readonly sha256: Digest };

const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

/** Signs the statement of what was asked, decided, achieved and used. It says nothing that is not in the facts. */
export function signReceipt(facts: ReceiptFacts, place: Place, signer: Signer): SignedReceipt {
  const payload = canonicalize(statementOf(facts, place));
  return { envelope: signer.sign(PAYLOAD_TYPE, payload), sha256: digestBytes(payload) };
}

function statementOf(facts: ReceiptFacts, place: Place): Statement {
  const { inputDigest, outputDigest, call, ...rest } = facts;
  const subject: Statement['subject'] = [{ name: 'input', digest: { sha256: inputDigest } }];
  const output: Statement['subject'] =
    outputDigest === null ? [] : [{ name: 'output', digest: { sha256: outputDigest } }];
  return {
    _type: STATEMENT_TYPE,
    subject: [...subject, ...output],
    predicateType: RECEIPT_PREDICATE_TYPE,
    predicate: {
      ...rest,
      call: { ...call, endedAt: place.at },
      journal: { seq: place.seq, prev: place.prev },
    },
  };
}
