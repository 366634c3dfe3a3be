/** One grammar from manifest to configuration to run: no separator, quote or upper case, no dot or dash at an end. */
const CAPABILITY_NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** What messages call the grammar. */
export const CAPABILITY_NAME_SHAPE =
  'up to 64 lower-case letters, digits and . _ - that begin and end with a letter or digit';

/** Tells whether a text can name a secret, a channel or a storage space. */
export function isCapabilityName(text: string): boolean {
  return CAPABILITY_NAME.test(text);
}
