import { quote } from '../../core/hostile-text.ts';
import { type Field, type Side, valuesOf } from './fields.ts';
import { found, type Read, turnDown } from './refusal.ts';

/** Where a body ends. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  /** With the connection; only a response may. */
  | { readonly kind: 'close' };

/** Without a sign or a leading zero, and exact as a number. */
const LENGTH = /^(?:0|[1-9][0-9]{0,14})$/;

/**
 * Finds the one place where a body ends, or refuses. Boundary: every way to make two programs see two ends is a request
 * inside a request for the one that sees the earlier end.
 */
export function framingOf(fields: readonly Field[], minor: 0 | 1, side: Side): Read<Framing> {
  const lengths = valuesOf(fields, 'content-length');
  const codings = valuesOf(fields, 'transfer-encoding');
  const [length] = lengths;
  const [coding] = codings;
  if (lengths.length > 1) return refuseBody(side, 'it has more than one Content-Length', 'one');
  if (coding !== undefined) {
    if (length !== undefined)
      return refuseBody(side, 'it has a Content-Length and a Transfer-Encoding', 'one of them');
    if (minor === 0) return refuseBody(side, 'it has a Transfer-Encoding in HTTP/1.0', 'HTTP/1.1');
    if (codings.length > 1 || coding.toLowerCase() !== 'chunked')
      return refuseBody(side, `its Transfer-Encoding is ${quote(codings.join(', '))}`, '"chunked"');
    return found({ kind: 'chunked' });
  }
  if (length === undefined) return found({ kind: side === 'request' ? 'none' : 'close' });
  if (!LENGTH.test(length)) return refuseBody(side, `its Content-Length is ${quote(length)}`, 'a number');
  return found({ kind: 'length', bytes: Number(length) });
}

/** The header that says where the body ends when it is passed on. */
export function formatFraming(framing: Framing): string {
  if (framing.kind === 'length') return `Content-Length: ${framing.bytes}\r\n`;
  return framing.kind === 'chunked' ? 'Transfer-Encoding: chunked\r\n' : '';
}

function refuseBody(side: Side, is: string, expected: string) {
  return turnDown(side === 'request' ? 400 : 502, `Cannot read body of ${side}: ${is}, expected ${expected}`);
}
