import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import {
  fromBase64,
  type KeyRing,
  type Primitives,
  parseKeyRing,
  preAuthEncoding,
  verifyReceipt,
  webPrimitives,
} from '@palisade/sdk';
import { nodePrimitives } from '../packages/gateway/src/attest/primitives.ts';
import { invoke } from '../packages/gateway/src/invoke/invoke.ts';
import { echoCall, never, openBed } from './bed.ts';
import { type BenchOptions, type Compared, compare, type Figure, type Spread } from './measure.ts';

/*
 * verifyReceipt() against the one thing it cannot save: the check of the same signatures over the same bytes. What is
 * between the two is ours: decoding, canonical form, shape, consistency, the report.
 */

type Bytes = Uint8Array<ArrayBuffer>;
type Signed = { readonly message: Bytes; readonly signature: Bytes };
type Envelope = { payload: string; payloadType: string; signatures: [{ sig: string }] };

const RECEIPTS = 40;
const GOAL = { atLeast: 0.7 };
const SPKI_HEADER = Buffer.from('302a300506032b6570032100', 'hex');

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const { receipts, ring } = await makeReceipts(scratch);
  const signed = receipts.map(signedOf);
  const [key] = [...ring.keys.values()];
  if (key === undefined) throw new Error('Cannot measure verify: the key ring is empty');
  const rounds = quick ? 30 : 200;

  const spki = Buffer.concat([SPKI_HEADER, key.publicKey]);
  const nodeKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const node = await compare(rounds, RECEIPTS, checkBy(nodePrimitives, receipts, ring), (i) =>
    bareNode(nodeKey, signed[i]),
  );

  const webKey = await crypto.subtle.importKey('raw', new Uint8Array(key.publicKey), 'Ed25519', false, [
    'verify',
  ]);
  const web = await compare(rounds, RECEIPTS, checkBy(webPrimitives, receipts, ring), (i) => {
    const { signature, message } = signedAt(signed, i);
    return crypto.subtle.verify('Ed25519', webKey, signature, message);
  });
  return [...figuresOf('Node primitives', node), ...figuresOf('WebCrypto', web)];
}

function figuresOf(name: string, { ours, bare, ratio }: Compared): Figure[] {
  return [
    { name: `verifyReceipt / bare verify, ${name}`, unit: 'x', spread: inverse(ratio, 1), goal: GOAL },
    { name: `verifyReceipt, ${name}`, unit: 'per s', spread: inverse(ours, 1000) },
    { name: `bare verify, ${name}`, unit: 'per s', spread: inverse(bare, 1000) },
  ];
}

/** From times to rates; the slowest time is the lowest rate. */
function inverse({ p10, median, p90 }: Spread, of: number): Spread {
  return { p10: of / p90, median: of / median, p90: of / p10 };
}

function checkBy(primitives: Primitives, receipts: readonly string[], ring: KeyRing) {
  return async (index: number) => {
    const report = await verifyReceipt(receipts[index] ?? '', ring, {}, primitives);
    if (!report.ok) throw new Error('Cannot measure verify: a receipt does not verify');
  };
}

function bareNode(key: KeyObject, signed: Signed | undefined): void {
  const valid = signed !== undefined && verify(null, signed.message, key, signed.signature);
  if (!valid) throw new Error('Cannot measure verify: a signature does not verify');
}

function signedAt(signed: readonly Signed[], index: number): Signed {
  const found = signed[index];
  if (found === undefined) throw new Error(`Cannot measure verify: there is no signature ${index}`);
  return found;
}

async function makeReceipts(scratch: string): Promise<{ receipts: string[]; ring: KeyRing }> {
  const gateway = await openBed(scratch);
  try {
    const calls = Array.from({ length: RECEIPTS }, () => invoke(gateway, echoCall(), never()));
    const receipts = (await Promise.all(calls)).map(({ receipt }) => receipt ?? '');
    const parsed = await parseKeyRing(gateway.keys.export());
    if (!parsed.ok) throw new Error(parsed.why);
    return { receipts, ring: parsed.keys };
  } finally {
    await gateway.close();
  }
}

function signedOf(receipt: string): Signed {
  const { payload, payloadType, signatures } = JSON.parse(receipt) as Envelope;
  const [bytes, signature] = [fromBase64(payload), fromBase64(signatures[0].sig)];
  if (bytes === null || signature === null) throw new Error('Cannot measure verify: a receipt is not base64');
  return {
    message: new Uint8Array(preAuthEncoding(payloadType, bytes)),
    signature: new Uint8Array(signature),
  };
}
