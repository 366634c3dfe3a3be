/** The bytes of a text in UTF-8; a lone surrogate becomes U+FFFD. */
export function bytesOf(text: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE));
}

/** The text of bytes in UTF-8. */
export function textOf(bytes: Uint8Array): string {
  return String.UTF8.decodeUnsafe(bytes.dataStart, bytes.length);
}
