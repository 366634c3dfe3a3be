import { CODES } from '@palisade/sdk';
import type { ZodType } from 'zod';
import * as z from 'zod';
import { SCOPES, type Scope } from '../../core/caller.ts';
import type { Json } from '../../core/json.ts';
import type { Operation } from '../../operations/operation.ts';
import { type Binding, bind, schemaOf } from './binding.ts';
import { STATIC_PAGES, type StaticPage } from './static-pages.ts';

/*
 * The OpenAPI document (3.1) of the HTTP door, made from the same rows that route and check requests, so that it cannot
 * differ. Named schemas are components, all others are inline.
 */

export type JsonObject = { readonly [key: string]: Json };
type Schemas = Map<string, JsonObject>;

const DESCRIPTION = `The HTTP door of Palisade, which runs the tool calls of agents under policy, in sandboxes, with signed receipts.

Send \`Authorization: Bearer TOKEN\` with a token of \`palisade token create\`. What a token is valid for is its scopes; they only narrow: the policies decide about every single operation all the same. The role behind each operation is the scope that it needs.

Everything that does not go well is a problem document (\`application/problem+json\`, RFC 9457) whose \`code\` is one of a closed table. Addresses are read to the letter; parameters and members that are not named here are refused.`;

/** What the tags of the operations are about. */
const TAGS: Readonly<Record<string, string>> = {
  calls: 'Calls of tools: made, followed, looked at, cancelled.',
  undo: 'What commands changed in their workspaces, and how it is taken back.',
  tools: 'What can be called.',
  approvals: 'Questions that policies put to people.',
  sessions: 'What budgets per run count by.',
  budgets: 'What may be used up, and what is left.',
  skills: 'Packages of tools: installed, audited, approved, withdrawn.',
  trust: 'Whose signatures count.',
  policies: 'What decides about everything else.',
  secrets: 'Values that go in and never come out.',
  storage: 'What skills have stored.',
  channels: 'Messages between skills, and with those who operate them.',
  journal: 'What was asked, decided and done, in one signed chain.',
  upstreams: 'MCP servers behind this gateway.',
  keys: 'The keys that sign receipts and the journal.',
  identity: 'Who calls, and the tokens by which that is known.',
  gateway: 'What the gateway and its machine are like.',
  operations: 'For those who monitor or discover the gateway.',
};

const problem = z
  .object({
    type: z.string().describe('`urn:palisade:code:` and the code.'),
    title: z.string().describe('What the code means.'),
    status: z.int(),
    detail: z.string().describe('What happened this time.'),
    code: z.enum(Object.keys(CODES) as [string, ...string[]]),
    remedy: z.string().describe('What to do about it.'),
  })
  .meta({ id: 'Problem' });

const problemEvent = z.object({ event: z.literal('problem'), data: problem }).meta({ id: 'ProblemEvent' });

const RETRY_AFTER = {
  'Retry-After': {
    description: 'How many seconds to wait, where waiting helps: `door/call-open`, 429 and 503.',
    schema: { type: 'integer' },
  },
};

/** The whole document; the same rows always give the same text. */
export function openApiDocument(operations: readonly Operation[], version: string) {
  const schemas: Schemas = new Map();
  const paths: Record<string, Record<string, DescribedOperation>> = {};
  for (const row of operations) {
    const { method, path } = row.http;
    paths[path] ??= {};
    Object.assign(paths[path] ?? {}, { [method.toLowerCase()]: operationOf(bind(row), schemas) });
  }
  for (const page of STATIC_PAGES) paths[page.path] = { get: pageOf(page, schemas) };
  const used = new Set([...operations.map(({ noun }) => noun), 'operations']);
  const tags = [...used].map((name) => ({ name, description: TAGS[name] ?? name }));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Palisade',
      version,
      summary: 'Tool calls of agents, under policy and on record.',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The gateway that gave this document.' }],
    security: [{ token: [] }],
    tags,
    paths,
    components: componentsOf(schemas),
  };
}

function componentsOf(schemas: Schemas) {
  const refused = (description: string) => ({ description, content: contentOf('Problem') });
  const passing = (description: string) => ({ ...refused(description), headers: RETRY_AFTER });
  jsonSchemaOf(problem, 'output', schemas);
  const scopes = Object.entries(SCOPES).map(([name, sentence]) => `\`${name}\`: ${sentence}`);
  return {
    securitySchemes: {
      token: {
        type: 'http',
        scheme: 'bearer',
        description: `A token of this gateway, or of the issuer that it trusts. Scopes: ${scopes.join(' ')}`,
      },
    },
    responses: {
      Unauthenticated: refused('The request carries no valid credential.'),
      Forbidden: refused('The credential or the policies do not allow it.'),
      Refused: passing('The request was refused; `code` says why.'),
      Failed: passing('The gateway cannot do it now; `code` says why.'),
    },
    schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function contentOf(name: string): Content {
  return { 'application/problem+json': { schema: { $ref: `#/components/schemas/${name}` } } };
}

type Reply = {
  readonly description?: string;
  readonly content?: Content;
  readonly headers?: JsonObject;
  readonly $ref?: string;
};
type Content = Readonly<Record<string, { readonly schema?: Json }>>;

const REFUSALS: Readonly<Record<string, Reply>> = {
  '401': { $ref: '#/components/responses/Unauthenticated' },
  '403': { $ref: '#/components/responses/Forbidden' },
  '4XX': { $ref: '#/components/responses/Refused' },
  '5XX': { $ref: '#/components/responses/Failed' },
};

export type DescribedOperation = ReturnType<typeof operationOf>;

function operationOf(binding: Binding, schemas: Schemas) {
  const { name, noun, sentence, scope, http } = binding.operation;
  const parameters = [
    ...parametersOf('path', schemaOf(binding, binding.path), schemas),
    ...parametersOf('query', schemaOf(binding, binding.query), schemas),
    ...Object.entries(http.headers ?? {}).flatMap(([header, rule]) => headerOf(header, rule.sentence)),
  ];
  const content = bodyOf(binding, schemas);
  return {
    ...summaryOf(name, noun, sentence),
    ...securityOf(scope),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(content === null ? {} : { requestBody: { required: true, content } }),
    responses: { ...repliesOf(binding.operation, schemas), ...refusalsOf(binding.operation, schemas) },
  };
}

/** The refusals of every operation; where its problems have members of their own, with those. */
function refusalsOf({ name, output }: Operation, schemas: Schemas): Readonly<Record<string, Reply>> {
  if (output.problem === undefined) return REFUSALS;
  const id = `${name[0]?.toUpperCase()}${name.slice(1)}Problem`;
  jsonSchemaOf(problem.extend(output.problem.shape).meta({ id }), 'output', schemas);
  const refused = (description: string) => ({ description, content: contentOf(id), headers: RETRY_AFTER });
  return {
    ...REFUSALS,
    '4XX': refused('The request was refused, or what was asked for failed; `code` says which.'),
    '5XX': refused('The gateway cannot do it now; `code` says why.'),
  };
}

function pageOf(
  { name, sentence, scope, type = 'application/json', schema }: StaticPage,
  schemas: Schemas,
): DescribedOperation {
  const ok = { description: sentence, content: { [type]: mediaOf(schema, schemas) } };
  return {
    ...summaryOf(name, 'operations', sentence),
    ...securityOf(scope),
    responses: { '200': ok, ...REFUSALS },
  };
}

function summaryOf(operationId: string, tag: string, sentence: string) {
  const [summary = sentence] = /^.*?[.](?=\s|$)/s.exec(sentence) ?? [];
  const description = summary === sentence ? {} : { description: sentence };
  return { operationId, tags: [tag], summary, ...description };
}

/** The roles of a bearer token are the scopes that it needs; an empty list needs no credential. */
function securityOf(scope: Scope | null | undefined) {
  return { security: scope === undefined ? [] : [{ token: scope === null ? [] : [scope] }] };
}

function parametersOf(location: 'path' | 'query', shape: ZodType, schemas: Schemas) {
  const { properties = {}, required = [] } = jsonSchemaOf(shape, 'input', schemas) as {
    properties?: Record<string, JsonObject & { readonly description?: string }>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: location,
    required: location === 'path' || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

/** What is negotiated by `accept` is in the types of the reply. */
function headerOf(name: string, description: string) {
  if (name === 'accept') return [];
  return [{ name, in: 'header', required: false, description, schema: { type: 'string' } }];
}

function bodyOf(binding: Binding, schemas: Schemas): Content | null {
  const { bytes } = binding.operation.http;
  if (bytes !== undefined) {
    const description = `The bytes as they are, at most ${bytes.maxBytes}.`;
    return { 'application/octet-stream': { schema: { type: 'string', format: 'binary', description } } };
  }
  if (binding.body === null) return null;
  return { 'application/json': { schema: jsonSchemaOf(schemaOf(binding, binding.body), 'input', schemas) } };
}

function repliesOf({ output }: Operation, schemas: Schemas): Readonly<Record<string, Reply>> {
  const { type = 'application/json', schema, sentence, created, events } = output;
  const media = { [type]: mediaOf(schema, schemas) };
  const content = events === undefined ? media : { ...media, [EVENTS]: eventsOf(events, schemas) };
  const ok = { description: sentence, content };
  if (created === true) return { '201': ok };
  return created === undefined
    ? { '200': ok }
    : { '200': ok, '201': { description: created.sentence, content } };
}

const EVENTS = 'text/event-stream';

/** Each event as an object of its two lines: its name, and its data as JSON. A stream that breaks off ends with a problem. */
function eventsOf(events: ZodType, schemas: Schemas): JsonObject {
  return { schema: jsonSchemaOf(z.union([events, problemEvent]), 'output', schemas) };
}

function mediaOf(schema: ZodType | undefined, schemas: Schemas): JsonObject {
  return schema === undefined ? {} : { schema: jsonSchemaOf(schema, 'output', schemas) };
}

/** The JSON Schema at one place; named ones go to the components. */
function jsonSchemaOf(schema: ZodType, io: 'input' | 'output', schemas: Schemas): JsonObject {
  const {
    $schema: _,
    $defs = {},
    ...own
  } = JSON.parse(
    JSON.stringify(
      z.toJSONSchema(schema, {
        io,
        target: 'draft-2020-12',
        unrepresentable: 'any',
        reused: 'inline',
        override: ({ jsonSchema }) => {
          // A response may gain members later; a request may not.
          if (io === 'output' && jsonSchema.additionalProperties === false)
            delete jsonSchema.additionalProperties;
        },
      }),
    ).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as { $schema?: string; $defs?: Record<string, JsonObject>; id?: string } & Record<string, Json>;
  for (const [name, part] of Object.entries($defs)) schemas.set(name, withoutId(part));
  const { id } = own;
  if (typeof id !== 'string') return own;
  schemas.set(id, withoutId(own));
  return { $ref: `#/components/schemas/${id}` };
}

function withoutId({ id: _, ...schema }: JsonObject): JsonObject {
  return schema;
}
