/*
 * The tool definitions of an upstream server: hostile text. It is parsed strictly and bounded before it is used; a set
 * with one definition that cannot be read is refused as a whole. What passes is what is pinned, to the byte.
 */
import { canonicalize } from '@palisade/sdk';
import { type Digest, digestBytes } from '../core/digest.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { accept, type Result, reject } from '../core/result.ts';
import type { JsonSchema } from '../core/tool.ts';
import {
  asDefinitions,
  DEFINITION_LIMITS,
  isNothing,
  isProse,
  isTitle,
  type Listed,
  NOTHING_LISTED,
  shown,
} from './listed.ts';

/** The hints of MCP; they describe, and are shown, and grant nothing. */
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

type Hints = Readonly<Partial<Record<(typeof HINTS)[number], boolean>>>;

/** One tool as its server defines it. */
export type Definition = {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  readonly annotations: Hints;
};

/** A whole set of definitions: its canonical text, and the digest of all in it that is a definition. */
export type DefinitionSet = {
  readonly definitions: readonly Definition[];
  /** What there is beside tools. */
  readonly listed: Listed;
  readonly text: string;
  readonly textDigest: Digest;
  /** Not of the list of resources, which may change. */
  readonly digest: Digest;
};

/** What a server offers, or why it cannot be used. */
export type OfferRead = Result<DefinitionSet, string>;

/** As in MCP; invisible characters are not among them. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** Reads all tools that a server lists, in a fixed order; the problem is the first one that cannot be used. */
export function readDefinitions(listed: readonly Json[]): OfferRead {
  if (listed.length > DEFINITION_LIMITS.tools)
    return reject(`it lists ${listed.length} tools, expected at most ${DEFINITION_LIMITS.tools}`);
  const byName = new Map<string, Definition>();
  for (const raw of listed) {
    const read = readDefinition(raw);
    if (typeof read === 'string') return reject(read);
    // Boundary: of two tools with one name, it would be unclear which was accepted.
    if (byName.has(read.name)) return reject(`it lists the tool "${read.name}" twice`);
    byName.set(read.name, read);
  }
  const definitions = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return accept(setOf(definitions));
}

/** The set of definitions that were read before. */
export function setOf(definitions: readonly Definition[], listed: Listed = NOTHING_LISTED): DefinitionSet {
  const { resources, ...defined } = listed;
  const pinned = { tools: definitions, ...defined } as unknown as JsonObject;
  const onlyTools = canonicalize(definitions as unknown as Json);
  const text = isNothing(listed) ? onlyTools : canonicalize({ ...pinned, resources } as Json);
  // A server that lists no resources today, or none any more, is pinned by the same digest.
  const digest = digestBytes(isNothing({ ...listed, resources: [] }) ? onlyTools : canonicalize(pinned));
  return { definitions, listed, text, textDigest: digestBytes(text), digest };
}

/** All that a set defines, prompts and templates among it, in the form of tools. */
export function everyDefinition({ definitions, listed }: DefinitionSet): readonly Definition[] {
  return [...definitions, ...asDefinitions(listed)];
}

/** The set that has this text. */
export function setFrom(text: string): DefinitionSet {
  const raw = JSON.parse(text) as
    | readonly Definition[]
    | (Listed & { readonly tools: readonly Definition[] });
  if (!('tools' in raw)) return setOf(raw);
  const { tools, ...listed } = raw;
  return setOf(tools, listed);
}

function readDefinition(raw: Json): Definition | string {
  if (!isJsonObject(raw)) return 'it lists something that is not a tool';
  const { name, title = null, description = '', inputSchema, outputSchema = null, annotations = {} } = raw;
  if (typeof name !== 'string' || !NAME.test(name))
    return `it lists a tool called "${shown(name)}", expected 1 to 128 letters, digits, "_", "." and "-"`;
  const has = (what: string) => `its tool "${name}" has ${what}`;
  if (!isTitle(title)) return has('a title that is too long or hides characters');
  if (!isProse(description))
    return has(
      `a description that is not a text of at most ${DEFINITION_LIMITS.descriptionChars} characters`,
    );
  if (!isJsonObject(inputSchema) || inputSchema.type !== 'object')
    return has('an inputSchema of another type than "object"');
  if (outputSchema !== null && !isJsonObject(outputSchema))
    return has('an outputSchema that is not an object');
  if (!isJsonObject(annotations)) return has('annotations that are not an object');
  const definition = {
    name,
    title,
    description,
    inputSchema,
    outputSchema,
    annotations: hintsOf(annotations),
  };
  const bytes = Buffer.byteLength(canonicalize(definition as Json));
  if (bytes > DEFINITION_LIMITS.definitionBytes)
    return has(`a definition of ${bytes} bytes, expected at most ${DEFINITION_LIMITS.definitionBytes}`);
  return definition;
}

function hintsOf(annotations: JsonObject): Hints {
  const given = HINTS.filter((hint) => typeof annotations[hint] === 'boolean');
  return Object.fromEntries(given.map((hint) => [hint, annotations[hint] === true]));
}
