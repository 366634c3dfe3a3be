import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  appendLeaves,
  CHECKPOINT_PAYLOAD_TYPE,
  canonicalize,
  EMPTY_FRONTIER,
  encodeEnvelope,
  encodeExportCheckpoint,
  encodeExportHeader,
  frontierRoot,
  hashRecord,
  type KeyDocument,
  type KeyRing,
  keyDocumentMessage,
  type Primitives,
  parseKeyRing,
  preAuthEncoding,
  RECEIPT_PAYLOAD_TYPE,
  type Statement,
  toBase64,
  toHex,
  toUtf8,
  ZERO_HASH,
} from '../src/index.ts';

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_ED25519 = Buffer.from('302a300506032b6570032100', 'hex');

/** The published documents, made by vectors/make-vectors.mjs. */
export type Attestation = {
  seed: string;
  keyId: string;
  keyFile: string;
  input: unknown;
  output: unknown;
  receipt: string;
  savedCheckpoint: string;
  checkpoint: string;
  journal: string;
  journalFrom6: string;
  proof: string;
};

export function readVectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8')) as T;
}

export const vectors = readVectors<Attestation>('attestation.json');

/** Synchronous primitives, for tests that make many documents. */
export const nodePrimitives: Primitives = {
  sha256: (bytes) => createHash('sha256').update(bytes).digest(),
  verifyEd25519(publicKey, signature, message) {
    const key = createPublicKey({
      key: Buffer.concat([SPKI_ED25519, publicKey]),
      format: 'der',
      type: 'spki',
    });
    return verify(null, message, key, signature);
  },
};

export type Signer = ReturnType<typeof makeSigner>;

export function makeSigner(seedByte: number) {
  const der = Buffer.concat([PKCS8_ED25519, Buffer.alloc(32, seedByte)]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const publicKey = new Uint8Array(spki.subarray(-32));
  const keyId = `sha256:${createHash('sha256').update(publicKey).digest('hex')}`;
  return { keyId, publicKey, sign: (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey)) };
}

/** The signer of the published documents. */
export const signer = makeSigner(7);
export const stranger = makeSigner(9);

export function keyLine(
  of: Signer,
  dates: Partial<Pick<KeyDocument, 'createdAt' | 'retiredAt'>> = {},
): string {
  const document = {
    algorithm: 'ed25519',
    createdAt: '2026-01-01T00:00:00.000Z',
    keyId: of.keyId,
    publicKey: toBase64(of.publicKey),
    retiredAt: null,
    type: 'palisade-key/v1',
    ...dates,
  } as const;
  return canonicalize({ ...document, signature: toBase64(of.sign(keyDocumentMessage(document))) });
}

export async function ringOf(text: string): Promise<KeyRing> {
  const result = await parseKeyRing(text);
  if (!result.ok) throw new Error(`Cannot make the ring of the test: ${result.why}`);
  return result.keys;
}

export function sealText(payloadType: string, payload: string, by: Signer = signer): string {
  const bytes = toUtf8(payload);
  return encodeEnvelope(payloadType, bytes, by.keyId, by.sign(preAuthEncoding(payloadType, bytes)));
}

export function sealReceipt(statement: unknown, by: Signer = signer): string {
  return sealText(RECEIPT_PAYLOAD_TYPE, canonicalize(statement), by);
}

/** A fresh copy of the statement in the published receipt. */
export function makeStatement(): Statement {
  const { payload } = JSON.parse(vectors.receipt) as { payload: string };
  return JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) as Statement;
}

/** Record lines in a valid chain. */
export function makeRecords(count: number, note: (seq: number) => string = () => ''): string[] {
  const lines: string[] = [];
  let prev = ZERO_HASH;
  for (let seq = 1; seq <= count; seq += 1) {
    const at = '2026-03-01T09:00:00.000Z';
    const who = { call: `c${seq}`, principal: 'agent:ada', tenant: 'default', tool: 'notes.head' };
    const line = canonicalize({ at, body: { note: note(seq) }, kind: 'ended', prev, seq, v: 1, ...who });
    lines.push(line);
    prev = toHex(nodePrimitives.sha256(Buffer.concat([Buffer.of(0), Buffer.from(line)])) as Uint8Array);
  }
  return lines;
}

/** What a record of an ending and its receipt say about one call; a test changes either. */
export type Ending = { readonly record: Record<string, unknown>; readonly statement: Statement };

/** Record lines in a valid chain, each with the receipt of its call inside, unless `change` makes them differ. */
export function makeEndings(
  count: number,
  change: (ending: Ending) => Partial<Ending> & { by?: Signer } = () => ({}),
): string[] {
  const lines: string[] = [];
  let prev = ZERO_HASH;
  for (let seq = 1; seq <= count; seq += 1) {
    const plain = { record: endingRecord(seq, prev), statement: endingStatement(seq, prev) };
    const { record, statement, by = signer } = { ...plain, ...change(plain) };
    const payload = canonicalize(statement);
    const receipt = createHash('sha256').update(payload).digest('hex');
    const envelope = JSON.parse(sealText(RECEIPT_PAYLOAD_TYPE, payload, by)) as object;
    const body = { receipt, envelope, ...(record.body as object) };
    const line = canonicalize({ ...record, body });
    lines.push(line);
    prev = toHex(nodePrimitives.sha256(Buffer.concat([Buffer.of(0), Buffer.from(line)])) as Uint8Array);
  }
  return lines;
}

const ENDED_AT = '2026-03-01T09:00:00.000Z';

function endingRecord(seq: number, prev: string): Record<string, unknown> {
  const who = { call: `c${seq}`, principal: 'agent:ada', tenant: 'default', tool: 'notes.head' };
  return { at: ENDED_AT, body: { status: 'ok', code: 'ok' }, kind: 'ended', prev, seq, v: 1, ...who };
}

function endingStatement(seq: number, prev: string): Statement {
  const statement = makeStatement();
  const times = { receivedAt: ENDED_AT, startedAt: ENDED_AT, endedAt: ENDED_AT };
  const call = { ...statement.predicate.call, ...times, id: `c${seq}` };
  return { ...statement, predicate: { ...statement.predicate, call, journal: { seq, prev } } };
}

export async function sealCheckpoint(
  records: readonly string[],
  change: object = {},
  by = signer,
): Promise<string> {
  const hashes = await Promise.all(records.map((line) => hashRecord(line, nodePrimitives)));
  const tree = await appendLeaves(EMPTY_FRONTIER, hashes, nodePrimitives);
  const root = toHex((await frontierRoot(tree, nodePrimitives)) ?? new Uint8Array());
  const [origin = new Uint8Array()] = hashes;
  const head = toHex(hashes.at(-1) ?? origin);
  const value = {
    at: '2026-03-01T09:30:00.000Z',
    head,
    origin: toHex(origin),
    root,
    size: records.length,
    v: 1,
  };
  return sealText(CHECKPOINT_PAYLOAD_TYPE, canonicalize({ ...value, ...change }), by);
}

/** The lines of a whole export; the checkpoint signs `signed`, by default the very records. */
export async function makeExport(records: readonly string[], signed = records): Promise<string[]> {
  const header = encodeExportHeader({ first: 1, frontier: [], prev: ZERO_HASH });
  return [header, ...records, encodeExportCheckpoint(await sealCheckpoint(signed))];
}

/** The lines of an export of the records from `first` on. */
export async function makeExportFrom(records: readonly string[], first: number): Promise<string[]> {
  const before = await Promise.all(
    records.slice(0, first - 1).map((line) => hashRecord(line, nodePrimitives)),
  );
  const { hashes } = await appendLeaves(EMPTY_FRONTIER, before, nodePrimitives);
  const prev = toHex(before.at(-1) ?? new Uint8Array(32));
  const header = encodeExportHeader({ first, frontier: hashes.map(toHex), prev });
  return [header, ...records.slice(first - 1), encodeExportCheckpoint(await sealCheckpoint(records))];
}
