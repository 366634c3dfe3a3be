import * as z from 'zod';
import { SCOPES, type Scope } from '../core/caller.ts';
import type { Json } from '../core/json.ts';

/* What more than one document is made of. */

const NO_CONTROL = /^\P{Cc}*$/u;

/** Any JSON value. It is checked where its schema is known; nothing here walks it, however deep it is. */
export const anyJson = z.unknown() as z.ZodType<Json>;

export const isoTimeText = z.iso.datetime().describe('A time in UTC.');
export const timeMs = z.int().min(0).describe('Milliseconds since 1970.');
export const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
export const risk = z.enum(['low', 'medium', 'high']);
export const tierName = z.enum(['builtin', 'a', 'b', 'c']);
export const principalText = z
  .string()
  .regex(/^(agent|user|service):[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/)
  .describe('Who: agent:NAME, user:NAME or service:NAME.');
export const nameText = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/);
export const toolName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/);
export const callIdText = z.string().regex(/^call_[0-9a-z]{25}$/);

/** An id as a caller gives it; a malformed one finds nothing, like one that does not exist. */
export const someId = z.string().min(1).max(128);

/** Text of a person, without control characters. */
export function proseText(maxChars: number) {
  return z.string().max(maxChars).regex(NO_CONTROL);
}

const count = z.int().min(0);

const shared = { wallMs: count, cpuMs: count, fuel: count, outputBytes: count, egressBytes: count };
export const usage = z.object({ calls: count, ...shared }).meta({ id: 'Usage' });
export const limits = z.object({ memoryBytes: count, ...shared }).meta({ id: 'Limits' });

export const trustOrigin = z.enum(['operator', 'first-use']);
export const annotations = z.object({
  readOnly: z.boolean(),
  destructive: z.boolean(),
  idempotent: z.boolean(),
  openWorld: z.boolean(),
});

/** A signed receipt, as verifiers take it. */
export const envelope = z
  .object({
    payload: z.string(),
    payloadType: z.string(),
    signatures: z.array(z.object({ keyid: z.string(), sig: z.string() })),
  })
  .meta({ id: 'Envelope' });

export const scope = z.enum(Object.keys(SCOPES) as [Scope, ...Scope[]]);

/** A whole number of JSON, or of a query in plain digits. */
export function wholeNumber(min: number, max: number) {
  const error = `expected a whole number from ${min} to ${max}, in decimal digits alone`;
  const number = z.int({ error }).min(min, { error }).max(max, { error });
  // Boundary: `1e3`, `0x10`, `1.0`, `+5` and ` 5` are numbers to some readers and none to others.
  const read = (raw: unknown) =>
    typeof raw === 'string' && /^(?:0|[1-9][0-9]{0,15})$/.test(raw) ? Number(raw) : raw;
  return z.preprocess(read, number).meta({ type: 'integer', minimum: min, maximum: max });
}

const MOST = 1_000;

/** How many at once, and where the page before ended. */
export function pageInput(usual: number) {
  return z.strictObject({
    limit: wholeNumber(1, MOST).default(usual).describe('How many at most.'),
    cursor: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('The cursor of the page before; left out: the first page.'),
  });
}

/** Where the next page begins; null: this was the last one. */
export const nextCursor = z.string().nullable().describe('For the next page; null: this is the last one.');

/** The output of a list: a page of documents, by what they are called. */
export function pageOf(name: string, each: z.ZodType, sentence = `A page of ${name}.`) {
  return { schema: z.object({ [name]: z.array(each), cursor: nextCursor }), sentence };
}

/** The same without what is undefined: a term that is left out is not one that is asked for. */
export function withoutGaps<T extends object>(value: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;
}

/** A switch: true or false, also as the text of a query. */
export const switchValue = z
  .preprocess((raw) => (raw === 'true' ? true : raw === 'false' ? false : raw), z.boolean())
  .meta({ type: 'boolean' });

export const keyId = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const REASON_CHARS = 1_000;
export const reasonText = proseText(REASON_CHARS).describe('Why; it is recorded.');
