/** Ways to spoil a signed package. */
import { sign } from 'node:crypto';
import { canonicalize, encodeEnvelope, preAuthEncoding } from '@palisade/sdk';
import type { SigningKey } from '../../../../src/attest/key-files.ts';
import type { Random } from '../../../egress/fuzz/random.ts';
import { type RawEntry, rawEntries, rawZip } from '../raw-zip.ts';

export type Envelope = {
  readonly payload: string;
  readonly payloadType: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
};

/** What there is to spoil: a package, its files, and keys that the spoiler has. */
export type Victim = {
  readonly bytes: Uint8Array;
  readonly entries: ReadonlyMap<string, Uint8Array>;
  readonly envelope: Envelope;
  /** The publisher's own, for lists that are signed and wrong. */
  readonly key: SigningKey;
  readonly strangers: readonly SigningKey[];
};

const SIGNATURE = 'signature.dsse.json';
const IN_TOTO = 'application/vnd.in-toto+json';
const INTERESTING = [0, 1, 8, 10, 20, 22, 30, 45, 46, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000];
const LARGE = [0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];
const PATHS = [
  '../x',
  '/x',
  'a/../b',
  'SKILL.MD',
  'skill.toml/x',
  'x',
  'zz',
  'text.WASM',
  'a.wat',
  'src',
  'é',
];

/** A package after one to three spoilings of its bytes. */
export function spoilBytes(random: Random, victim: Victim): Uint8Array {
  let bytes = victim.bytes;
  for (let times = 1 + random.below(3); times > 0; times -= 1) bytes = random.pick(BYTES)(random, bytes);
  return bytes;
}

/** A package whose files were spoiled and laid out anew, so that the archive itself is mostly sound. */
export function spoilFiles(random: Random, victim: Victim): Uint8Array {
  const entries = rawEntries(victim.entries);
  for (let times = 1 + random.below(2); times > 0; times -= 1) random.pick(FILES)(random, entries);
  entries.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return rawZip({ entries });
}

/** A package with another envelope: spoiled in its parts, or signed truthfully over a spoiled list. */
export function spoilSignature(random: Random, victim: Victim): Uint8Array {
  const payload = Buffer.from(victim.envelope.payload, 'base64');
  const text = random.chance(2) ? signAnew(random, victim, payload) : spoilEnvelope(random, victim.envelope);
  const entries = rawEntries(victim.entries).map((entry) =>
    entry.path === SIGNATURE ? { path: SIGNATURE, contents: Buffer.from(text) } : entry,
  );
  return rawZip({ entries });
}

type ByteSpoiler = (random: Random, bytes: Uint8Array) => Uint8Array;

const BYTES: readonly ByteSpoiler[] = [
  (random, bytes) => withByte(bytes, random.below(bytes.length), (byte) => byte ^ (1 << random.below(8))),
  (random, bytes) => withByte(bytes, random.below(bytes.length), () => random.below(256)),
  (random, bytes) => bytes.subarray(0, random.below(bytes.length)),
  (random, bytes) => bytes.subarray(random.below(bytes.length)),
  (random, bytes) => join(bytes, random.below(bytes.length), random.below(64), new Uint8Array()),
  (random, bytes) => join(bytes, random.below(bytes.length), 0, cutOf(random, bytes)),
  (random, bytes) => join(bytes, random.below(bytes.length), random.below(256), cutOf(random, bytes)),
  (random, bytes) => join(bytes, bytes.length, 0, cutOf(random, bytes)),
  setNumber,
  setNumber,
  setNumber,
];

/** Sets a field of a record to a number that programs trip over. */
function setNumber(random: Random, bytes: Uint8Array): Uint8Array {
  const places = recordsIn(bytes);
  if (places.length === 0) return bytes.subarray(1);
  const at = random.pick(places) + 2 * random.below(23);
  const copy = Buffer.from(bytes);
  if (random.chance(2) && at + 4 <= copy.length)
    copy.writeUInt32LE(random.pick([...INTERESTING, ...LARGE]), at);
  else if (at + 2 <= copy.length) copy.writeUInt16LE(random.pick(INTERESTING) & 0xffff, at);
  return copy;
}

function recordsIn(bytes: Uint8Array): readonly number[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const places: number[] = [];
  for (let at = buffer.indexOf('PK'); at !== -1; at = buffer.indexOf('PK', at + 1)) places.push(at);
  return places;
}

const FILES: readonly ((random: Random, entries: RawEntry[]) => void)[] = [
  (random, entries) =>
    replaceAt(random, entries, ({ contents }) => ({ contents: random.pick(BYTES)(random, contents) })),
  (random, entries) =>
    replaceAt(random, entries, ({ contents }) => ({ contents: random.pick(BYTES)(random, contents) })),
  (random, entries) => entries.splice(random.below(entries.length), 1),
  (random, entries) => replaceAt(random, entries, () => ({ path: random.pick(PATHS) })),
  (random, entries) => entries.push({ path: random.pick(PATHS), contents: random.pick(entries).contents }),
  (random, entries) => replaceAt(random, entries, () => ({ contents: random.pick(entries).contents })),
  (random, entries) => entries.push(random.pick(entries)),
  (random, entries) =>
    replaceAt(random, entries, () => ({ [random.pick(['local', 'line'])]: { crc: random.pick(LARGE) } })),
];

function replaceAt(
  random: Random,
  entries: RawEntry[],
  change: (entry: RawEntry) => Partial<RawEntry>,
): void {
  const at = random.below(entries.length);
  const entry = entries[at];
  if (entry !== undefined && entry.contents.length > 0) entries[at] = { ...entry, ...change(entry) };
}

/** A signature that holds, over a list that does not, or by a stranger over the true list. */
function signAnew(random: Random, { key, strangers }: Victim, payload: Buffer): string {
  const isStranger = random.chance(3);
  const signer = isStranger ? random.pick(strangers) : key;
  const list = isStranger ? payload : Buffer.from(spoilText(random, payload));
  const signature = sign(null, preAuthEncoding(IN_TOTO, list), signer.privateKey);
  return encodeEnvelope(IN_TOTO, list, random.chance(2) ? key.keyId : signer.keyId, signature);
}

function spoilEnvelope(random: Random, envelope: Envelope): string {
  const signature = envelope.signatures[0] ?? { keyid: '', sig: '' };
  const spoiled = (base64: string) =>
    Buffer.from(random.pick(BYTES)(random, Buffer.from(base64, 'base64'))).toString('base64');
  switch (random.below(6)) {
    case 0:
      return canonicalize({ ...envelope, payload: spoiled(envelope.payload) });
    case 1:
      return canonicalize({ ...envelope, signatures: [{ ...signature, sig: spoiled(signature.sig) }] });
    case 2:
      return canonicalize({ ...envelope, signatures: [signature, signature] });
    case 3:
      return JSON.stringify(envelope, null, 1 + random.below(4));
    case 4:
      return `${canonicalize(envelope)}${random.pick([' ', '\n', '\0', '{}'])}`;
    default:
      return Buffer.from(spoilText(random, Buffer.from(canonicalize(envelope)))).toString('latin1');
  }
}

/** Text after a change of some characters, or of its whole form. */
function spoilText(random: Random, text: Buffer): Uint8Array {
  if (random.chance(4)) return Buffer.from(JSON.stringify(JSON.parse(text.toString()), null, 1));
  if (random.chance(4)) return Buffer.from(text.toString().replace(/"name"/, '"nam\\u0065"'));
  return random.pick(BYTES)(random, text);
}

function withByte(bytes: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[at] = change(copy[at] ?? 0);
  return copy;
}

function cutOf(random: Random, bytes: Uint8Array): Uint8Array {
  const from = random.below(bytes.length);
  return bytes.subarray(from, from + 1 + random.below(200));
}

function join(bytes: Uint8Array, at: number, dropped: number, added: Uint8Array): Uint8Array {
  return Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + dropped)]);
}
