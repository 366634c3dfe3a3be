import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../../core/json.ts';
import type { Path } from './formats/format.ts';

/* What configuration files say, as their parsers give it: looked at and changed by copy, whatever keys a file may have. */

type Step = string | number;

/** The value at the end of a path; undefined where there is none. */
export function at(value: unknown, path: Path): unknown {
  let here = value;
  for (const step of path) {
    // Boundary: only what the file has; never what objects inherit.
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as Record<Step, unknown>)[step];
  }
  return here;
}

/** Whether a value is an object with keys, and no list. */
export function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** A copy with the value at the end of the path; parents that are not there are made. */
export function withAt(value: unknown, path: Path, fresh: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return fresh;
  const copy = copyOf(value, step);
  return define(copy, step, withAt(at(copy, [step]), rest, fresh));
}

/** A copy without the value at the end of the path. */
export function withoutAt(value: unknown, path: Path): unknown {
  const [step, ...rest] = path;
  if (step === undefined || at(value, [step]) === undefined) return value;
  const copy = copyOf(value, step);
  if (rest.length > 0) return define(copy, step, withoutAt(at(copy, [step]), rest));
  if (Array.isArray(copy)) copy.splice(Number(step), 1);
  else delete (copy as Record<Step, unknown>)[step];
  return copy;
}

/** How a new value has to be put in where its parents may not be there: the deepest that is, and what is to be made in it. */
export function nest(value: unknown, path: Path, fresh: Json): { readonly path: Path; readonly value: Json } {
  let [steps, made] = [path, fresh];
  while (steps.length > 1 && (at(value, steps.slice(0, -1)) ?? null) === null) {
    const last = steps[steps.length - 1] ?? 0;
    made = typeof last === 'number' ? [made] : { [last]: made };
    steps = steps.slice(0, -1);
  }
  return { path: steps, value: made };
}

/** The same as plain JSON, whatever the parser makes objects of. */
export function plain(value: unknown): Json {
  const text = JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each));
  return text === undefined ? null : (JSON.parse(text) as Json);
}

/** Whether two values say the same, whatever their parsers make objects of and in which order. */
export function same(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(bare(one), bare(other));
}

function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (!isTable(value)) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(value)) copy[key] = bare(value[key]);
  return copy;
}

function copyOf(value: unknown, step: Step): object {
  if (Array.isArray(value)) return [...value];
  if (!isTable(value)) return typeof step === 'number' ? [] : {};
  return Object.create(Object.getPrototypeOf(value), Object.getOwnPropertyDescriptors(value));
}

function define(target: object, step: Step, value: unknown): object {
  // Boundary: a key like `__proto__` is a key here, and changes no prototype.
  const shape = { value, writable: true, enumerable: true, configurable: true };
  return Object.defineProperty(target, step, shape);
}
