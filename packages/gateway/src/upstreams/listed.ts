/*
 * What an upstream server offers beside its tools: prompts, resources and templates of resources. Like tools they are read
 * strictly and bounded, and pinned. Prompts and templates are definitions: a server that changes one is looked at by a
 * person. The list of resources is data, like a result; it may change, and what was listed last is what is shown.
 */
import { ACTIVE, inert } from '../core/hostile-text.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { accept, type Result, reject } from '../core/result.ts';
import type { Definition } from './definition.ts';

/** Limits on the definitions of tools. */
export const DEFINITION_LIMITS = {
  tools: 512,
  pages: 64,
  titleChars: 256,
  descriptionChars: 16_384,
  definitionBytes: 65_536,
  /** Of all pages of a list together. */
  listBytes: 4 * 1024 * 1024,
} as const;

/** Limits on what is listed beside tools. Of resources, the first ones up to the limit are shown. */
export const LISTED_LIMITS = { prompts: 512, templates: 512, arguments: 64, resources: 1_000 } as const;

type PromptArgument = {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
};

type Described = { readonly name: string; readonly title: string | null; readonly description: string };

export type ListedPrompt = Described & { readonly arguments: readonly PromptArgument[] };

/** A resource, or a template of resources: then its address has places in braces. */
export type ListedResource = Described & { readonly uri: string; readonly mimeType: string | null };

export type Listed = {
  readonly prompts: readonly ListedPrompt[];
  readonly templates: readonly ListedResource[];
  readonly resources: readonly ListedResource[];
  /** Whether it completes what is typed. */
  readonly completes: boolean;
};

/** What a server lists, page after page, before it is parsed. */
export type RawListed = Readonly<Record<'prompts' | 'templates' | 'resources', readonly Json[]>> & {
  readonly completes: boolean;
};

export const NOTHING_LISTED: Listed = { prompts: [], templates: [], resources: [], completes: false };

const NAME = /^[A-Za-z0-9_./-]{1,128}$/;
/** An address with a scheme, and no character that shows nothing. */
const URI = /^[a-z][a-z0-9+.-]{0,31}:[^\s\p{Cc}\p{Cf}]{1,2000}$/iu;
const MIME = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;

/** Whether a server lists anything beside tools. */
export function isNothing({ prompts, templates, resources, completes }: Listed): boolean {
  return prompts.length + templates.length + resources.length === 0 && !completes;
}

/** Reads it all, in a fixed order; the problem is the first prompt or template that cannot be used. */
export function readListed(raw: RawListed): Result<Listed, string> {
  if (raw.prompts.length > LISTED_LIMITS.prompts || raw.templates.length > LISTED_LIMITS.templates)
    return reject('it lists more prompts or resource templates than can be read');
  const prompts = raw.prompts.map(readPrompt);
  const templates = raw.templates.map((each) => readResource(each, 'uriTemplate'));
  const broken = [...prompts, ...templates].find((each) => typeof each === 'string');
  if (typeof broken === 'string') return reject(broken);
  const listed = {
    prompts: inOrder(prompts.filter(isRead), ({ name }) => name),
    templates: inOrder(templates.filter(isRead), ({ uri }) => uri),
    // Boundary: an invalid resource is left out; the rest of the list stays.
    resources: inOrder(
      raw.resources.map((each) => readResource(each, 'uri')).filter(isRead),
      ({ uri }) => uri,
    ).slice(0, LISTED_LIMITS.resources),
    completes: raw.completes,
  };
  const isTwice = listed.prompts.length + listed.templates.length < prompts.length + templates.length;
  if (isTwice) return reject('it lists a prompt or a resource template twice');
  return accept(listed);
}

/** Prompts and templates in the form of tools, for those who compare sets or look at their prose. */
export function asDefinitions({ prompts, templates, completes }: Listed): readonly Definition[] {
  const plain = { inputSchema: {}, outputSchema: null, annotations: {} };
  return [
    ...prompts.map(({ name, title, description, arguments: asked }) => {
      const properties = Object.fromEntries(asked.map((each) => [each.name, { ...each }]));
      return { ...plain, name: `prompt ${name}`, title, description, inputSchema: { properties } };
    }),
    ...templates.map(({ uri, name, title, description, mimeType }) => {
      return { ...plain, name: `template ${uri}`, title, description, inputSchema: { name, mimeType } };
    }),
    ...(completes ? [{ ...plain, name: 'completions', title: null, description: '' }] : []),
  ];
}

/** Whether an address could be one that this template makes. An expression in braces matches any text. */
export function fitsTemplate(template: string, uri: string): boolean {
  const [first = '', ...rest] = template.split(/\{[^{}]*\}/);
  if (rest.length === 0) return uri === template;
  const last = rest.pop() ?? '';
  if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = uri.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= uri.length - last.length;
}

function readPrompt(raw: Json): ListedPrompt | string {
  if (!isJsonObject(raw)) return 'it lists something that is not a prompt';
  const { name, title = null, description = '', arguments: asked = [] } = raw;
  if (typeof name !== 'string' || !NAME.test(name))
    return `it lists a prompt called "${shown(name)}", expected 1 to 128 letters, digits, "_", ".", "/" and "-"`;
  const has = (what: string) => `its prompt "${name}" has ${what}`;
  if (!isTitle(title) || !isProse(description))
    return has('a title or a description that is too long or has invisible characters');
  if (!Array.isArray(asked) || asked.length > LISTED_LIMITS.arguments)
    return has('no valid list of arguments');
  const read = asked.map(readArgument);
  if (!read.every(isRead)) return has('an argument that is not valid');
  return { name, title, description, arguments: read };
}

function readArgument(raw: Json): PromptArgument | string {
  const { name, description = '', required }: Partial<JsonObject> = isJsonObject(raw) ? raw : {};
  if (typeof name !== 'string' || !NAME.test(name) || !isProse(description)) return 'not an argument';
  return { name, description, isRequired: required === true };
}

function readResource(raw: Json, key: 'uri' | 'uriTemplate'): ListedResource | string {
  if (!isJsonObject(raw)) return 'it lists something that is not a resource';
  const { [key]: uri, name, title = null, description = '', mimeType = null } = raw;
  if (typeof uri !== 'string' || !URI.test(uri)) return `it lists a resource at "${shown(uri)}"`;
  const isNamed = typeof name === 'string' && name !== '' && isTitle(name);
  if (!isNamed || !isTitle(title) || !isProse(description))
    return `its resource "${uri}" has a name, title or description that is too long or has invisible characters`;
  const type = typeof mimeType === 'string' && MIME.test(mimeType) ? mimeType : null;
  return { uri, name, title, description, mimeType: type };
}

function isRead<T extends object>(value: T | string): value is T {
  return typeof value !== 'string';
}

/** In the order of their keys, each once. */
function inOrder<T>(values: readonly T[], keyOf: (value: T) => string): readonly T[] {
  const byKey = new Map(values.map((value) => [keyOf(value), value]));
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}

/** Whether a title is short and hides nothing, or missing. */
export function isTitle(title: Json): title is string | null {
  ACTIVE.lastIndex = 0;
  if (title === null) return true;
  return typeof title === 'string' && title.length <= DEFINITION_LIMITS.titleChars && !ACTIVE.test(title);
}

/** Whether a text is short enough for a description. */
export function isProse(text: Json): text is string {
  return typeof text === 'string' && text.length <= DEFINITION_LIMITS.descriptionChars;
}

/** An invalid name as a message shows it. */
export function shown(value: Json | undefined): string {
  return typeof value === 'string' ? inert(value.slice(0, 64)) : typeof value;
}
