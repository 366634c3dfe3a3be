/*
 * Text of callers, tools, skills, packages and upstream servers is shown to people and read by models. Every place that
 * shows it goes through here: the result cannot control a terminal or hide a part, and its length is bounded.
 */

/** Control characters, bidirectional overrides and invisible ones: a terminal would obey them, a reader miss them. */
export const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The longest text of one result; the rest is in the resource of the call. */
export const MAX_TEXT_CHARS = 256 * 1024;

const QUOTED_CHARS = 120;

/** The same text with everything that is not plain text escaped. */
export function inert(text: string): string {
  // Boundary: names, messages and outputs come from callers and tools; the terminal must not obey them, and a line feed
  // in one must not make a line that looks like ours.
  return text.replace(ACTIVE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** A text as a message shows it: in quotes, on one line, at most 120 characters of it, nothing active. */
export function quote(text: string): string {
  return inert(JSON.stringify(text.length > QUOTED_CHARS ? `${text.slice(0, QUOTED_CHARS)}…` : text));
}

/** A line of plain text with everything active escaped, cut where it is too long. */
export function safeLine(text: string, maxChars: number): string {
  return cut(inert(text.slice(0, maxChars + 1)), maxChars);
}

/** The same for text of several lines: line feeds and tabs are kept. */
export function safeText(text: string, maxChars: number): string {
  // Boundary: a sequence that moves the cursor, hides a word or reverses the direction of text is escaped.
  const safe = text.slice(0, maxChars + 1).replace(ACTIVE, (char) => (isLayout(char) ? char : inert(char)));
  return cut(safe, maxChars);
}

/** JSON of a value in which every active character is escaped, so that parsers still read the same value. */
export function safeJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(ACTIVE, (char) =>
    char === '\n' ? char : escapeUnits(char),
  );
}

/** A text of at most this many characters, which indicates where something is missing. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = /[\ud800-\udbff]$/.test(text.slice(0, maxChars)) ? maxChars - 1 : maxChars;
  return `${text.slice(0, end)}… (cut)`;
}

function isLayout(char: string): boolean {
  return char === '\n' || char === '\t';
}

function escapeUnits(char: string): string {
  return char.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Quotes an argument for a shell, so that a printed command can be copied whatever the name of a file has in it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
