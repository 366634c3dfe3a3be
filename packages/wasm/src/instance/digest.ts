/** SHA-256 over bytes that do not change in the meantime. */
export async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}

/** SHA-256 over a text as UTF-8. */
export function digestText(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return digest(new TextEncoder().encode(text));
}

/** Lower-case hexadecimal, two digits a byte. */
export function writeHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
