/*
 * A token is `pls_`, 25 characters that name it, `_`, and 43 characters that are its secret: 32 bytes of chance in base64url.
 * The beginning is for those who search texts for what should not be there. The name is no secret: records and lists have it
 * as `tok_…`. There is one spelling of each token: no other text is it.
 */

export const SECRET_BYTES = 32;

/** What a text that looks like a token says. */
export type TokenParts = { readonly id: string; readonly secret: Uint8Array };

const NAME_PART = '[0-9a-hjkmnp-tv-z]{25}';
// Boundary: 43 characters hold two bits more than the bytes. They are zero, or four texts would be one token.
const TOKEN = new RegExp(`^pls_(${NAME_PART})_([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$`);
const TOKEN_ID = new RegExp(`^tok_${NAME_PART}$`);
/** What may be a token, whole or in part; wider than the grammar, for texts that must hold none. */
const TOKEN_LIKE = /pls_[0-9a-z]{8}/i;

/** Tells whether a text can be the id of a token. */
export function isTokenId(text: string): boolean {
  return TOKEN_ID.test(text);
}

/** Tells whether a text has a token in it, or a part of one. */
export function hasToken(text: string): boolean {
  return TOKEN_LIKE.test(text);
}

/** Tells whether a text says that it is a token of a gateway, whether or not it is one. */
export function isOurs(text: string): boolean {
  return text.startsWith('pls_');
}

/** Reads a token; anything but its one spelling is null. */
export function parseToken(raw: string): TokenParts | null {
  const [, name, secret] = TOKEN.exec(raw) ?? [];
  if (name === undefined || secret === undefined) return null;
  return { id: `tok_${name}`, secret: Buffer.from(secret, 'base64url') };
}

/** The one spelling of a token. */
export function formatToken({ id, secret }: TokenParts): string {
  return `pls_${id.slice('tok_'.length)}_${Buffer.from(secret).toString('base64url')}`;
}
