import { malformed } from './refusal.ts';

const MAGIC = [0x00, 0x61, 0x73, 0x6d];
const CORE_VERSION = [0x01, 0x00, 0x00, 0x00];
const COMPONENT_LAYER = [0x01, 0x00];
/** How many bytes are searched for text. */
const TEXT_BYTES = 64;

/** Refuses everything that does not begin like a core module, and names other well-known formats. */
export function requireHeader(bytes: Uint8Array): void {
  if (!holds(bytes, 0, MAGIC)) {
    // Boundary: the text format is never accepted where a binary is expected.
    if (looksLikeText(bytes)) throw malformed('this is the text format, expected a binary module', 0);
    throw malformed('it does not begin with "\\0asm", expected a binary module', 0);
  }
  if (holds(bytes, 4, CORE_VERSION)) return;
  if (holds(bytes, 6, COMPONENT_LAYER)) {
    throw malformed('this is a component, expected a core module', 4);
  }
  throw malformed('its version is not known, expected version 1', 4);
}

function holds(bytes: Uint8Array, at: number, expected: readonly number[]): boolean {
  return expected.every((byte, index) => bytes[at + index] === byte);
}

function looksLikeText(bytes: Uint8Array): boolean {
  const text = String.fromCharCode(...bytes.subarray(0, TEXT_BYTES)).trimStart();
  return text.startsWith('(') || text.startsWith(';;');
}
