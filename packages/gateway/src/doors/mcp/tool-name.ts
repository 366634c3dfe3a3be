/*
 * The names of tools at the MCP door. Model providers accept letters, digits, "_" and "-", at most 64 of them; ids have
 * dots and may be longer. A name depends on nothing but its id, so that a client's own permissions never come to mean
 * another tool. A plain name can be read back as exactly one id. An id for which that is impossible has a name that ends
 * with its digest, a form that no plain name has. See docs/decisions/0033-names-of-tools-at-the-mcp-door.md.
 */
import { digestBytes } from '../../core/digest.ts';

/** What every provider accepts. */
const MAX_NAME_CHARS = 64;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** Ids and names that begin so are ours alone. */
const OWN_ID = 'palisade.';
const OWN_NAME = 'palisade_';
const SEPARATOR = '__';

/** 60 bits: names that other ids could be made to have cannot be searched for. */
const DIGEST_HEX_CHARS = 15;
const DIGEST_CHARS = 12;
const DIGESTED = /__[0-9a-v]{12}$/;

/** The name of the tool with this id: no other id has it. */
export function toolName(id: string): string {
  const plain = id.startsWith(OWN_ID) ? id.replaceAll('.', '_') : id.replaceAll('.', SEPARATOR);
  if (NAME.test(plain) && !DIGESTED.test(plain) && idIn(plain) === id) return plain;
  const stem = plain.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return `${stem.slice(0, MAX_NAME_CHARS - SEPARATOR.length - DIGEST_CHARS)}${SEPARATOR}${digestOf(id)}`;
}

/** The id that a client means by a plain name or by the id itself; a name with a digest is returned as it is. */
export function toolIdIn(name: string): string {
  const id = idIn(name);
  return isIdOnly(name) || toolName(id) !== name ? name : id;
}

/** Whether a text can be an id, but not a name at this door. */
export function isIdOnly(text: string): boolean {
  return !NAME.test(text);
}

function idIn(plain: string): string {
  return plain.startsWith(OWN_NAME) ? plain.replaceAll('_', '.') : plain.replaceAll(SEPARATOR, '.');
}

function digestOf(id: string): string {
  const bits = BigInt(`0x${digestBytes(id).slice(0, DIGEST_HEX_CHARS)}`);
  return bits.toString(32).padStart(DIGEST_CHARS, '0');
}
