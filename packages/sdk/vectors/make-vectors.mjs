/**
 * Makes the published vectors with node:crypto alone, so that they do not repeat a mistake of the verifier.
 * Run `node make-vectors.mjs` to write them; the tests import `makeVectors` and compare.
 */

import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';

const ZEROS = '0'.repeat(64);
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

const sha256 = (...parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const sha256Hex = (...parts) => sha256(...parts).toString('hex');

/** RFC 8785 for the values used here: sorted keys, the rest as JSON.stringify has it. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.keys(value).sort();
  return `{${fields.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}

/** The recursive definition of RFC 6962, section 2.1, over leaf hashes. */
function root(leaves) {
  if (leaves.length === 1) return leaves[0];
  const half = splitPoint(leaves.length);
  return sha256(Buffer.of(1), root(leaves.slice(0, half)), root(leaves.slice(half)));
}

function inclusionPath(index, leaves) {
  if (leaves.length === 1) return [];
  const half = splitPoint(leaves.length);
  return index < half
    ? [...inclusionPath(index, leaves.slice(0, half)), root(leaves.slice(half))]
    : [...inclusionPath(index - half, leaves.slice(half)), root(leaves.slice(0, half))];
}

function splitPoint(size) {
  let half = 1;
  while (half * 2 < size) half *= 2;
  return half;
}

function frontier(leaves) {
  if (leaves.length === 0) return [];
  let largest = 1;
  while (largest * 2 <= leaves.length) largest *= 2;
  return [root(leaves.slice(0, largest)), ...frontier(leaves.slice(largest))];
}

function makeKey(seedByte) {
  const seed = Buffer.alloc(32, seedByte);
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = Buffer.from(createPublicKey(privateKey).export({ format: 'jwk' }).x, 'base64url');
  return { seed, privateKey, publicKey, keyId: `sha256:${sha256Hex(publicKey)}` };
}

function keyDocument({ privateKey, publicKey, keyId }, createdAt, retiredAt) {
  const document = {
    algorithm: 'ed25519',
    createdAt,
    keyId,
    publicKey: publicKey.toString('base64'),
    retiredAt,
    type: 'palisade-key/v1',
  };
  const message = Buffer.from(`palisade-key/v1\n${canonical(document)}`);
  return canonical({ ...document, signature: sign(null, message, privateKey).toString('base64') });
}

function preAuthEncoding(type, payload) {
  const head = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

function envelope(type, value, { privateKey, keyId }) {
  const payload = Buffer.from(canonical(value));
  const sig = sign(null, preAuthEncoding(type, payload), privateKey).toString('base64');
  return canonical({ payload: payload.toString('base64'), payloadType: type, signatures: [{ keyid: keyId, sig }] });
}

const INPUT = { path: 'notes/für-später.txt', lines: 3 };
const OUTPUT = { text: 'one\ntwo\nthree\n' };

function makeStatement(journal) {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [
      { name: 'input', digest: { sha256: sha256Hex(canonical(INPUT)) } },
      { name: 'output', digest: { sha256: sha256Hex(canonical(OUTPUT)) } },
    ],
    predicateType: 'urn:palisade:receipt:v1',
    predicate: {
      call: {
        id: 'call-0003',
        run: 'run-7',
        door: 'mcp',
        receivedAt: '2026-03-01T09:00:03.000Z',
        startedAt: '2026-03-01T09:00:03.004Z',
        endedAt: '2026-03-01T09:00:03.120Z',
      },
      principal: 'agent:ada',
      tenant: 'default',
      tool: { id: 'notes.head', definition: sha256Hex('the canonical tool definition') },
      outcome: { status: 'ok', code: 'ok' },
      output: { bytes: Buffer.byteLength(canonical(OUTPUT)), truncated: false },
      policy: { set: sha256Hex('the policy set'), decidedBy: ['read-notes'] },
      approval: { id: 'approval-1', by: 'user:grace', at: '2026-03-01T08:59:00.000Z' },
      artifacts: [{ name: 'notes.wasm', sha256: sha256Hex('the module') }],
      execution: { tier: 'wasm', executor: 'wasm-worker', isolation: { network: false, memoryPages: 1024, engine: 'v8' } },
      limits: {
        wallMs: 30000,
        cpuMs: 30000,
        fuel: 10000000,
        memoryBytes: 67108864,
        outputBytes: 1048576,
        egressBytes: 0,
      },
      usage: { calls: 1, wallMs: 116, cpuMs: 9, fuel: 48213, outputBytes: Buffer.byteLength(canonical(OUTPUT)), egressBytes: 0 },
      journal,
      gateway: { version: '0.1.0' },
    },
  };
}

/** Eleven records; record 6 holds the digest of the receipt. */
function makeJournal(key) {
  const lines = [];
  const hashes = [];
  let receipt = '';
  for (let seq = 1; seq <= 11; seq += 1) {
    const prev = hashes.at(-1)?.toString('hex') ?? ZEROS;
    const call = Math.ceil(seq / 2);
    const record = {
      at: `2026-03-01T09:00:0${call}.${seq % 2 === 1 ? '000' : '120'}Z`,
      body: seq % 2 === 1 ? { input: sha256Hex(`input ${call}`) } : { code: 'ok', receipt: sha256Hex(`receipt ${call}`) },
      call: `call-000${call}`,
      kind: seq % 2 === 1 ? 'intent' : 'ended',
      prev,
      principal: 'agent:ada',
      seq,
      tenant: 'default',
      tool: 'notes.head',
      v: 1,
    };
    if (seq === 6) {
      const statement = makeStatement({ seq, prev });
      receipt = envelope('application/vnd.in-toto+json', statement, key);
      record.body = { code: 'ok', receipt: sha256Hex(canonical(statement)) };
    }
    lines.push(canonical(record));
    hashes.push(sha256(Buffer.of(0), lines.at(-1)));
  }
  return { lines, hashes, receipt };
}

function makeCheckpoint(hashes, size, key) {
  const value = {
    at: '2026-03-01T09:01:00.000Z',
    head: hashes[size - 1].toString('hex'),
    origin: hashes[0].toString('hex'),
    root: root(hashes.slice(0, size)).toString('hex'),
    size,
    v: 1,
  };
  return envelope('application/vnd.palisade.checkpoint+json', value, key);
}

function makeExport({ lines, hashes }, first, checkpoint) {
  const header = {
    first,
    format: 'palisade-journal/v1',
    frontier: frontier(hashes.slice(0, first - 1)).map((hash) => hash.toString('hex')),
    prev: hashes[first - 2]?.toString('hex') ?? ZEROS,
  };
  const last = `{"checkpoint":${checkpoint}}`;
  return [canonical(header), ...lines.slice(first - 1), last].map((line) => `${line}\n`).join('');
}

function makeAttestation() {
  const key = makeKey(7);
  const retired = makeKey(8);
  const journal = makeJournal(key);
  const checkpoint = makeCheckpoint(journal.hashes, 11, key);
  const path = inclusionPath(5, journal.hashes).map((hash) => hash.toString('hex'));
  const proof = `${canonical({ checkpoint: JSON.parse(checkpoint), format: 'palisade-proof/v1', path, record: journal.lines[5] })}\n`;
  const documents = [
    keyDocument(key, '2026-01-01T00:00:00.000Z', null),
    keyDocument(retired, '2025-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
  ];
  return {
    seed: key.seed.toString('hex'),
    keyId: key.keyId,
    keyFile: documents.map((document) => `${document}\n`).join(''),
    input: INPUT,
    output: OUTPUT,
    receipt: `${journal.receipt}\n`,
    savedCheckpoint: `${makeCheckpoint(journal.hashes, 7, key)}\n`,
    checkpoint: `${checkpoint}\n`,
    journal: makeExport(journal, 1, checkpoint),
    journalFrom6: makeExport(journal, 6, checkpoint),
    proof,
  };
}

const CANONICAL_CASES = [
  ['keys are sorted by UTF-16 code units', '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}', '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}'],
  ['keys that look like numbers are sorted as text', '{"10":1,"9":2,"":3}', '{"":3,"10":1,"9":2}'],
  ['nested objects are sorted too', '{"b":[{"z":1,"a":[]}],"a":{}}', '{"a":{},"b":[{"a":[],"z":1}]}'],
  ['strings escape only what they must', '"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'],
  ['short escapes are used where they exist', '"\\u0008\\u0009\\u000a\\u000c\\u000d\\u007f\\u2028"', '"\\b\\t\\n\\f\\r\u007f\u2028"'],
  ['numbers take their shortest form', '[333333333.33333329,4.50,2e-3,0.000000000000000000000000001,-0,1E2,10.0]', '[333333333.3333333,4.5,0.002,1e-27,0,100,10]'],
  ['the largest exact integers are kept', '[9007199254740991,-9007199254740991]', '[9007199254740991,-9007199254740991]'],
  ['literals are kept', '[null,true,false]', '[null,true,false]'],
  ['a key named __proto__ is a key', '{"__proto__":{"a":1},"A":0}', '{"A":0,"__proto__":{"a":1}}'],
];

const PAE_CASES = [
  ['http://example.com/HelloWorld', 'hello world', 'DSSEv1 29 http://example.com/HelloWorld 11 hello world'],
  ['', '', 'DSSEv1 0  0 '],
  ['größe', '€', 'DSSEv1 7 größe 3 €'],
];

/** Every published file by name. */
export function makeVectors() {
  const leaves = Array.from({ length: 16 }, (_, index) => sha256(Buffer.of(0), `leaf ${index + 1}`));
  return {
    'canonical.json': CANONICAL_CASES.map(([name, json, encoded]) => ({ name, json, encoded })),
    'pae.json': PAE_CASES.map(([payloadType, payload, encoded]) => ({ payloadType, payload, encoded })),
    'merkle.json': leaves.map((leaf, index) => ({
      leafText: `leaf ${index + 1}`,
      leaf: leaf.toString('hex'),
      size: index + 1,
      root: root(leaves.slice(0, index + 1)).toString('hex'),
      frontier: frontier(leaves.slice(0, index + 1)).map((hash) => hash.toString('hex')),
      pathOfFirst: inclusionPath(0, leaves.slice(0, index + 1)).map((hash) => hash.toString('hex')),
      pathOfLast: inclusionPath(index, leaves.slice(0, index + 1)).map((hash) => hash.toString('hex')),
    })),
    'attestation.json': makeAttestation(),
  };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  for (const [name, vector] of Object.entries(makeVectors())) {
    writeFileSync(new URL(name, import.meta.url), `${JSON.stringify(vector, null, 2)}\n`);
  }
}
