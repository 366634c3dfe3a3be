/* The part of DER (ITU-T X.690) that a certificate is written in. Nothing is read here, only written. */

/** Tags of the kinds of values, in the order of the standard. */
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

const CONTEXT = 0x80;
const CONSTRUCTED = 0x20;
/** The first year whose last two digits would be taken for one of the last century (RFC 5280, 4.1.2.5.1). */
const FIRST_GENERALIZED_YEAR = 2050;

export function sequence(...items: readonly Uint8Array[]): Buffer {
  return value(TAG.sequence, ...items);
}

export function set(item: Uint8Array): Buffer {
  return value(TAG.set, item);
}

export function yes(): Buffer {
  return value(TAG.boolean, Uint8Array.of(0xff));
}

/** A number below 128, or the bytes of one whose first is neither 0 nor above 127. */
export function integer(number: number | Uint8Array): Buffer {
  return value(TAG.integer, typeof number === 'number' ? Uint8Array.of(number) : number);
}

export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return value(TAG.bitString, Uint8Array.of(unusedBits), bytes);
}

export function octetString(bytes: Uint8Array): Buffer {
  return value(TAG.octetString, bytes);
}

export function utf8(text: string): Buffer {
  return value(TAG.utf8, Buffer.from(text));
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return value(TAG.objectId, Uint8Array.of(first * 40 + second), ...others.map(septets));
}

/** A context-specific value, whose kind follows from its position: `[number]`. */
export function context(number: number, bytes: Uint8Array): Buffer {
  return value(CONTEXT + number, bytes);
}

/** The same around whole values. */
export function contextAround(number: number, ...items: readonly Uint8Array[]): Buffer {
  return value(CONTEXT + CONSTRUCTED + number, ...items);
}

/** A time from 1950 to 9999, to the second, in the one form that certificates have for its year. */
export function time(ms: number): Buffer {
  const date = new Date(ms);
  const digits = `${date.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;
  return date.getUTCFullYear() < FIRST_GENERALIZED_YEAR
    ? value(TAG.utcTime, Buffer.from(digits.slice(2)))
    : value(TAG.generalizedTime, Buffer.from(digits));
}

function value(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const length = contents.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return Buffer.concat([Uint8Array.of(tag, ...lengthOf(length)), ...contents]);
}

/** Below 128 in one byte; else the number of bytes that follow, then those bytes. */
function lengthOf(length: number): readonly number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 + bytes.length, ...bytes];
}

/** A number in groups of seven bits, each but the last marked. */
function septets(number: number): Uint8Array {
  const bytes = [number % 128];
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift(0x80 + (rest % 128));
  return Uint8Array.from(bytes);
}
