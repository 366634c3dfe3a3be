/** Control characters, bidirectional overrides and invisible ones: a terminal or a reader would obey or miss them. */
export const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The same text with everything that is not plain text spelled out. */
export function inert(text: string): string {
  // Boundary: names, messages and outputs come from callers and tools; the terminal must not obey them, and a line feed
  // in one must not make a line that looks like ours.
  return text.replace(ACTIVE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}
