/** The bytes of a text in UTF-8; half a surrogate pair becomes U+FFFD. */
export function bytesOf(text: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE));
}

/** The text that bytes in UTF-8 stand for. */
export function textOf(bytes: Uint8Array): string {
  return String.UTF8.decodeUnsafe(bytes.dataStart, bytes.length);
}
