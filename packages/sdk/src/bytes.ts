const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PADDING = 61;
const ZERO_DIGIT = 65;
const NOT_A_DIGIT = -1;
const ENCODE = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0));
const DECODE = new Int8Array(256).fill(NOT_A_DIGIT);
for (const [value, code] of ENCODE.entries()) DECODE[code] = value;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const HEX_TEXT = /^(?:[0-9a-f]{2})*$/;

const encoder = new TextEncoder();
// Boundary: ignoreBOM keeps a byte order mark visible as a character, so that it fails where nothing may precede "{".
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The UTF-8 bytes of a text. */
export function toUtf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of bytes that are strictly valid UTF-8, or null. */
export function fromUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** Lower-case hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/** The bytes of lower-case hexadecimal text, or null. */
export function fromHex(text: string): Uint8Array | null {
  if (!HEX_TEXT.test(text)) return null;
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = Number.parseInt(text.slice(2 * index, 2 * index + 2), 16);
  }
  return bytes;
}

/** Standard base64 (RFC 4648 section 4) with padding. */
export function toBase64(bytes: Uint8Array): string {
  const codes = new Uint8Array(4 * Math.ceil(bytes.length / 3)).fill(PADDING);
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    const left = bytes.length - from;
    const group = ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0);
    codes[to] = ENCODE[group >> 18] ?? 0;
    codes[to + 1] = ENCODE[(group >> 12) & 63] ?? 0;
    if (left > 1) codes[to + 2] = ENCODE[(group >> 6) & 63] ?? 0;
    if (left > 2) codes[to + 3] = ENCODE[group & 63] ?? 0;
  }
  return decoder.decode(codes);
}

/** The bytes of the one base64 spelling that `toBase64` returns for them, or null for every other text. */
export function fromBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null;
  const codes = encoder.encode(text);
  // A character beyond ASCII takes more than one byte.
  if (codes.length !== text.length) return null;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  // The padding counts as zeros, so that every group is whole.
  codes.fill(ZERO_DIGIT, codes.length - padding);
  const bytes = new Uint8Array((codes.length / 4) * 3);
  let seen = 0;
  for (let from = 0, to = 0; from < codes.length; from += 4, to += 3) {
    // A non-digit is negative, and so is every group that contains it.
    const group =
      (digitAt(codes, from) << 18) |
      (digitAt(codes, from + 1) << 12) |
      (digitAt(codes, from + 2) << 6) |
      digitAt(codes, from + 3);
    seen |= group;
    bytes[to] = group >> 16;
    bytes[to + 1] = group >> 8;
    bytes[to + 2] = group;
  }
  // Boundary: bits beyond the last byte must be zero, or one value would have several spellings.
  const spare = bytes.subarray(bytes.length - padding);
  if (seen < 0 || spare.some((byte) => byte !== 0)) return null;
  return bytes.subarray(0, bytes.length - padding);
}

function digitAt(codes: Uint8Array, index: number): number {
  return DECODE[codes[index] as number] as number;
}
