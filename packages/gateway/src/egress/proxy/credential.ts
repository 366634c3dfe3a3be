import { createHash, timingSafeEqual } from 'node:crypto';
import { PROXY_BOUNDS } from './proxy-limits.ts';

/** The user name that goes with the token of a run. */
const USER = 'run';
const BASIC = /^basic +([A-Za-z0-9+/]+=*)$/i;

/** Tells whether a value of Proxy-Authorization is that of the run. */
export type CredentialCheck = (raw: string | null) => boolean;

/** Makes the check for a token; how long it takes says nothing about the token. */
export function newCredentialCheck(token: string): CredentialCheck {
  // Boundary: an empty or short token would let in who guesses it.
  if (token.length < PROXY_BOUNDS.leastTokenChars || !/^[!-9;-~]+$/.test(token)) {
    throw new TypeError(
      `Cannot open proxy: the token is short or has odd characters, expected at least ${PROXY_BOUNDS.leastTokenChars} printable ones`,
    );
  }
  const expected = digest(Buffer.from(`${USER}:${token}`).toString('base64'));
  return (raw) => {
    const [, given = ''] = BASIC.exec(raw ?? '') ?? [];
    // Boundary: digests have one length and say nothing about where two texts begin to differ.
    return timingSafeEqual(digest(given), expected);
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
