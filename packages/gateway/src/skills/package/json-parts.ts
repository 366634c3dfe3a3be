import { inert } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';

/*
 * Looks into JSON that somebody else wrote: what is not there, or of another kind, is null and never an error.
 */

const SHOWN_CHARS = 80;

/** A member of an object; null where there is none. */
export function memberOf(value: Json, key: string): Json {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
  const object = value as { readonly [key: string]: Json };
  return Object.hasOwn(object, key) ? (object[key] ?? null) : null;
}

/** A member that is text. */
export function textOf(value: Json, key: string): string | null {
  const member = memberOf(value, key);
  return typeof member === 'string' ? member : null;
}

/** A member that is a list; empty where it is none. */
export function listOf(value: Json, key: string): readonly Json[] {
  const member = memberOf(value, key);
  return Array.isArray(member) ? member : [];
}

/** A text of somebody else's for a message. */
export function showText(text: string | null): string {
  return text === null ? 'missing' : JSON.stringify(inert(text.slice(0, SHOWN_CHARS)));
}
