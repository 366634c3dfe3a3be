/*
 * What an upstream server offers beside its tools: prompts, resources and templates of resources. Like tools they are read
 * strictly and bounded, and pinned. Prompts and templates are definitions: a server that changes one is looked at by a
 * person. The list of resources is data, like a result; it may change, and what was listed last is what is shown.
 */
import { ACTIVE, inert } from '../core/hostile-text.ts';
import type { Json } from '../core/json.ts';
import { list, looseObject, orNull, type Shaped } from '../core/json-shape.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { check, optional, required, tables, textLike, withDefault } from '../core/shape.ts';
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

const NAME = textLike('1 to 128 letters, digits, "_", ".", "/" and "-"', (text) =>
  /^[A-Za-z0-9_./-]{1,128}$/.test(text),
);
const URI = textLike('an address with a scheme and no invisible characters', (text) =>
  /^[a-z][a-z0-9+.-]{0,31}:[^\s\p{Cc}\p{Cf}]{1,2000}$/iu.test(text),
);
const MIME = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;
const TITLE = textLike(`up to ${DEFINITION_LIMITS.titleChars} visible characters`, isTitle);
const PROSE = textLike(
  `up to ${DEFINITION_LIMITS.descriptionChars} characters`,
  (text) => text.length <= DEFINITION_LIMITS.descriptionChars,
);

const ARGUMENT = looseObject({
  name: required(NAME),
  description: withDefault(PROSE, ''),
  required: withDefault<boolean>((raw) => raw === true, false),
});
const PROMPT = looseObject({
  name: required(NAME),
  title: optional(orNull(TITLE)),
  description: withDefault(PROSE, ''),
  arguments: withDefault(tables(ARGUMENT, { max: LISTED_LIMITS.arguments, header: 'arguments' }), []),
});
const RESOURCE_FIELDS = {
  name: required(textLike('a name of visible characters', (text) => text !== '' && isTitle(text))),
  title: optional(orNull(TITLE)),
  description: withDefault(PROSE, ''),
  mimeType: optional<string | null>((raw) => (typeof raw === 'string' && MIME.test(raw) ? raw : null)),
};
const RESOURCE = looseObject({ ...RESOURCE_FIELDS, uri: required(URI) });
const DEFINED = looseObject({
  prompts: required(list(PROMPT)),
  templates: required(list(looseObject({ ...RESOURCE_FIELDS, uriTemplate: required(URI) }))),
});

export type ListedPrompt = Omit<Shaped<typeof PROMPT>, 'arguments'> & {
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly isRequired: boolean;
  }[];
};

/** A resource, or a template of resources: then its address has places in braces. */
export type ListedResource = Shaped<typeof RESOURCE>;

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

/** Whether a server lists anything beside tools. */
export function isNothing({ prompts, templates, resources, completes }: Listed): boolean {
  return prompts.length + templates.length + resources.length === 0 && !completes;
}

/** Reads it all, in a fixed order; the problem is the first prompt or template that cannot be used. */
export function readListed(raw: RawListed): Result<Listed, string> {
  if (raw.prompts.length > LISTED_LIMITS.prompts || raw.templates.length > LISTED_LIMITS.templates)
    return reject('it lists more prompts or resource templates than can be read');
  const defined = check(raw, DEFINED);
  if (!defined.ok) {
    const [first] = defined.problem;
    return reject(
      `it lists ${first?.subject}, which ${first?.is.replace(/^it /, '')}, expected ${first?.expected}`,
    );
  }
  const prompts = defined.value.prompts.map(({ arguments: asked, ...prompt }) => ({
    ...prompt,
    arguments: asked.map(({ required: isRequired, ...each }) => ({ ...each, isRequired })),
  }));
  const templates = defined.value.templates.map(({ uriTemplate: uri, ...template }) => ({
    uri,
    ...template,
  }));
  // Boundary: an invalid resource is left out; the rest of the list stays.
  const resources = raw.resources.flatMap((each) => {
    const read = check(each, RESOURCE);
    return read.ok ? [read.value] : [];
  });
  const listed = {
    prompts: inOrder(prompts, ({ name }) => name),
    templates: inOrder(templates, ({ uri }) => uri),
    resources: inOrder(resources, ({ uri }) => uri).slice(0, LISTED_LIMITS.resources),
    completes: raw.completes,
  };
  const isTwice = listed.prompts.length + listed.templates.length < prompts.length + templates.length;
  return isTwice ? reject('it lists a prompt or a resource template twice') : accept(listed);
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
