import { ACTIVE, inert } from '../../core/inert.ts';
import type { Json } from '../../core/json.ts';
import { inertJson } from '../cli/printer.ts';

/*
 * What tools, skills and upstream servers say is shown to people and read by models. Here it becomes text that no
 * terminal obeys and no eye misses, of a length that is known.
 */

/** The longest text of one result; the rest is in the resource of the call. */
export const MAX_TEXT_CHARS = 256 * 1024;

/** A line of plain text with everything active spelled out, cut where it is too long. */
export function safeLine(text: string, maxChars: number): string {
  return cut(inert(text.slice(0, maxChars + 1)), maxChars);
}

/** The same for text of several lines: line feeds and tabs stay. */
export function safeText(text: string, maxChars: number): string {
  // Boundary: a sequence that moves the cursor, hides a word or turns the direction of text is spelled out.
  const safe = text.slice(0, maxChars + 1).replace(ACTIVE, (char) => (isLayout(char) ? char : inert(char)));
  return cut(safe, maxChars);
}

/** A value as JSON in which every active character is escaped, so that a parser reads what was meant. */
export function safeJson(value: Json): string {
  return inertJson(value);
}

/** A text of at most so many characters, which says so where something is missing. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = /[\ud800-\udbff]$/.test(text.slice(0, maxChars)) ? maxChars - 1 : maxChars;
  return `${text.slice(0, end)}… (cut)`;
}

function isLayout(char: string): boolean {
  return char === '\n' || char === '\t';
}
