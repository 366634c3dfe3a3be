/**
 * Reads a small document that someone may have re-indented. Between the tokens any JSON whitespace is allowed; apart
 * from that the text must be the canonical encoding of its value. So there is one spelling of every string and number,
 * no duplicate key, nothing before the opening brace and at most one line feed after the closing one.
 */

import { fromUtf8, toUtf8 } from './bytes.ts';
import { canonicalize } from './canonical.ts';
import { type Found, found, missed } from './report.ts';

/** No receipt, proof, key file or journal line is longer; a longer one is refused unread. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;

const QUOTE = 34;
const BACKSLASH = 92;

export type Canonical = { readonly value: unknown; readonly text: string };

/** The text of a document within the size limit, in strictly valid UTF-8. */
export function readText(raw: string | Uint8Array): Found<string> {
  const length = raw.length;
  const unit = typeof raw === 'string' ? 'characters' : 'bytes';
  // Boundary: nothing longer is decoded, parsed or hashed.
  if (length > MAX_DOCUMENT_BYTES) {
    return missed(`the document has ${length} ${unit}, expected at most ${MAX_DOCUMENT_BYTES}`);
  }
  const text = typeof raw === 'string' ? raw : fromUtf8(raw);
  return text === null ? missed('the bytes are not valid UTF-8') : found(text, `${length} ${unit}`);
}

/** The value of a text that is exactly the canonical encoding of it. */
export function readCanonical(text: string): Found<Canonical> {
  const parsed = parse(text);
  if (!parsed.ok || parsed.value.text === text) return parsed;
  return missed(
    `not the canonical encoding from byte ${byteOffset(text, difference(text, parsed.value.text, false))}`,
  );
}

/** The value of a document that differs from its canonical encoding in whitespace at most. */
export function readDocument(text: string): Found<Canonical> {
  const body = text.endsWith('\n') ? text.slice(0, -1) : text;
  if (!body.startsWith('{')) return missed('byte 0 is not the opening brace of a document');
  if (!body.endsWith('}')) {
    return missed(`byte ${byteOffset(body, body.length - 1)} is not the closing brace of the document`);
  }
  const parsed = parse(body);
  if (!parsed.ok || parsed.value.text === body) return parsed;
  const index = difference(body, parsed.value.text, true);
  return index === -1 ? parsed : missed(`not the canonical encoding from byte ${byteOffset(body, index)}`);
}

function parse(text: string): Found<Canonical> {
  try {
    const value: unknown = JSON.parse(text);
    return found({ value, text: canonicalize(value) }, 'canonical JSON');
  } catch (error) {
    return missed(`not canonical JSON: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
}

/** Where the text leaves the canonical one, -1 for nowhere. Whitespace inside a string always counts. */
function difference(text: string, canonical: string, skipWhitespace: boolean): number {
  let at = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (skipWhitespace && !inString && isWhitespace(code)) continue;
    if (code !== canonical.charCodeAt(at)) return index;
    if (code === QUOTE) inString = !inString;
    at += 1;
    if (code !== BACKSLASH) continue;
    // The escaped character is compared here, so that an escaped quote does not end the string.
    index += 1;
    if (text.charCodeAt(index) !== canonical.charCodeAt(at)) return index;
    at += 1;
  }
  return at === canonical.length ? -1 : text.length;
}

function isWhitespace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

function byteOffset(text: string, index: number): number {
  return toUtf8(text.slice(0, index)).length;
}
