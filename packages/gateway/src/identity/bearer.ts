/** The longest value of an Authorization header that is looked at. Tokens of large issuers come to about four thousand. */
export const MAX_AUTHORIZATION_BYTES = 8_192;

/** RFC 6750: the scheme in any case, one space, and a text that needs no quotes. */
const BEARER = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i;

/** Reads the token of an Authorization header; anything but one bearer token is null. It repairs nothing and never throws. */
export function readBearer(raw: string): string | null {
  // Boundary: what is too long is not even read.
  if (raw.length > MAX_AUTHORIZATION_BYTES) return null;
  // Boundary: two credentials that a proxy joined by a comma, or one with white space around it, are no credential.
  return BEARER.exec(raw)?.[1] ?? null;
}
