/**
 * The serialized form of a compiled module. The file is: four bytes of magic, the version of the file, the version of
 * the meter, the key, the length of the terms, the terms as JSON, the metered module, and SHA-256 over all of that, the
 * seal.
 *
 * How far such a file can be trusted: its terms are bound to the key, so it cannot pass for another module, other
 * limits or other prices than those of the digest that the caller remembers. The metered code is not: anyone who can
 * write the file can write another seal too. So without a remembered seal a file is as trustworthy as its location, and
 * with one as the location of the seal. Anyone who can write both can replace both.
 */
import { WasmError } from '../error.ts';
import { METER_VERSION } from '../meter/meter.ts';
import { digest, writeHex } from './digest.ts';

const MAGIC = 0x706c7761;
/** Raised whenever a file of before is not what this writes. */
export const FORMAT_VERSION = 3;
const DIGEST_BYTES = 32;
const KEY_AT = 12;
const TERMS_LENGTH_AT = KEY_AT + DIGEST_BYTES;
const TERMS_AT = TERMS_LENGTH_AT + 4;

export type DiskForm = {
  readonly key: Uint8Array;
  /** JSON. */
  readonly terms: string;
  readonly code: Uint8Array;
};

/** The file without its seal. */
export function writeDiskForm({ key, terms, code }: DiskForm): Uint8Array<ArrayBuffer> {
  const encoded = new TextEncoder().encode(terms);
  const file = new Uint8Array(TERMS_AT + encoded.length + code.length);
  const view = new DataView(file.buffer);
  view.setUint32(0, MAGIC);
  view.setUint32(4, FORMAT_VERSION);
  view.setUint32(8, METER_VERSION);
  file.set(key, KEY_AT);
  view.setUint32(TERMS_LENGTH_AT, encoded.length);
  file.set(encoded, TERMS_AT);
  file.set(code, TERMS_AT + encoded.length);
  return file;
}

/** The file followed by its seal. */
export function addSeal(file: Uint8Array, seal: Uint8Array): Uint8Array<ArrayBuffer> {
  const sealed = new Uint8Array(file.length + seal.length);
  sealed.set(file);
  sealed.set(seal, file.length);
  return sealed;
}

export type Expected = {
  readonly digest: string;
  readonly seal?: string;
  /** False: the file is forgotten once it is compiled, and the module cannot be serialised. V8 keeps a copy of the code. */
  readonly isKept?: boolean;
};

export type Opened = {
  readonly key: Uint8Array;
  /** JSON. */
  readonly terms: string;
  readonly code: Uint8Array<ArrayBuffer>;
  readonly file: Uint8Array<ArrayBuffer>;
};

/**
 * Splits a file if it has its declared length and the expected digest; anything else is 'malformed'. The result is not
 * trusted before `requireSeal` has passed.
 */
export function openDiskForm(sealed: Uint8Array<ArrayBuffer>, expected: Expected): Opened {
  if (sealed.length < TERMS_AT + DIGEST_BYTES)
    throw refusal(`it has ${sealed.length} bytes`, 'a whole file', 0);
  const view = new DataView(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  requireNumber(view, { at: 0, name: 'magic number', value: MAGIC });
  requireNumber(view, { at: 4, name: 'file version', value: FORMAT_VERSION });
  requireNumber(view, { at: 8, name: 'meter version', value: METER_VERSION });
  const file = sealed.subarray(0, sealed.length - DIGEST_BYTES);
  const key = file.subarray(KEY_AT, TERMS_LENGTH_AT);
  // Boundary: the file is the requested one.
  requireDigest('digest', key, expected.digest);
  const codeAt = TERMS_AT + view.getUint32(TERMS_LENGTH_AT);
  if (codeAt > file.length)
    throw refusal('its terms are longer than the file', 'them inside', TERMS_LENGTH_AT);
  const terms = new TextDecoder().decode(file.subarray(TERMS_AT, codeAt));
  return { key, terms, code: file.subarray(codeAt), file };
}

/** The seal of a file, if every byte is as it was written and it is the one that was expected. */
export async function requireSeal(
  sealed: Uint8Array<ArrayBuffer>,
  expected: Expected,
): Promise<Uint8Array<ArrayBuffer>> {
  const length = sealed.length - DIGEST_BYTES;
  const seal = await digest(sealed.subarray(0, length));
  // Boundary: any changed byte changes the seal.
  requireDigest('seal', sealed.subarray(length), writeHex(seal));
  if (expected.seal !== undefined) requireDigest('seal', seal, expected.seal);
  return seal;
}

type Field = { readonly at: number; readonly name: string; readonly value: number };

function requireNumber(view: DataView, { at, name, value }: Field): void {
  const found = view.getUint32(at);
  if (found !== value) throw refusal(`its ${name} is ${found}`, String(value), at);
}

function requireDigest(name: string, found: Uint8Array, expected: string): void {
  if (writeHex(found) !== expected) throw refusal(`its ${name} is ${writeHex(found)}`, expected);
}

export function refusal(is: string, expected: string, offset?: number, cause?: unknown): WasmError {
  const facts = { ...(offset === undefined ? {} : { offset }), ...(cause === undefined ? {} : { cause }) };
  return new WasmError('malformed', `Cannot revive module: ${is}, expected ${expected}`, facts);
}
