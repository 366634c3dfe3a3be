import { CODES } from '@palisade/sdk';
import { type ZodType, z } from 'zod';
import { SCOPES, type Scope } from '../../core/caller.ts';
import type { Json } from '../../core/json.ts';
import type { Route } from './route.ts';
import { STANDING_OPERATIONS, type StandingOperation, TAGS } from './standing-operations.table.ts';

/*
 * The OpenAPI document (3.1) of the HTTP door, made from the very rows that route and check requests, so that it cannot
 * say anything else. Schemas that have a name of their own stand among the components, all others where they are used.
 */

export type JsonObject = { readonly [key: string]: Json };
type Schemas = Map<string, JsonObject>;

const DESCRIPTION = `The HTTP door of Palisade, which runs the tool calls of agents under policy, in sandboxes, with signed receipts.

Send \`Authorization: Bearer TOKEN\` with a token of \`palisade token create\`. What a token is good for is its scopes; they only narrow: the policies decide about every single act all the same. The role behind each operation is the scope that it needs.

Everything that does not go well is a problem document (\`application/problem+json\`, RFC 9457) whose \`code\` is one of a closed table. Addresses are read to the letter; parameters and members that are not named here are refused.`;

const problem = z
  .looseObject({
    type: z.string().describe('`urn:palisade:code:` and the code.'),
    title: z.string().describe('What the code means.'),
    status: z.int(),
    detail: z.string().describe('What happened this time.'),
    code: z.enum(Object.keys(CODES) as [string, ...string[]]),
    remedy: z.string().describe('What to do about it.'),
  })
  .meta({ id: 'Problem' });

/** The whole document; the same rows always give the same text. */
export function openApiDocument(routes: readonly Route[], version: string): JsonObject {
  const schemas: Schemas = new Map();
  const paths: Record<string, Record<string, Json>> = {};
  for (const row of routes) {
    paths[row.path] ??= {};
    Object.assign(paths[row.path] ?? {}, { [row.method.toLowerCase()]: operationOf(row, schemas) });
  }
  for (const row of STANDING_OPERATIONS) paths[row.path] = { get: standingOf(row, schemas) };
  const used = new Set([...routes.map(({ tag }) => tag), 'operations']);
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

function componentsOf(schemas: Schemas): JsonObject {
  const refused = (description: string) => ({ description, content: contentOf('Problem') });
  schemaOf(problem, 'output', schemas);
  return {
    securitySchemes: {
      token: {
        type: 'http',
        scheme: 'bearer',
        description: `A token of this gateway, or of the issuer that it trusts. Scopes: ${Object.entries(
          SCOPES,
        )
          .map(([name, sentence]) => `\`${name}\`: ${sentence}`)
          .join(' ')}`,
      },
    },
    responses: {
      Unauthenticated: refused('There is no credential that is good here.'),
      Forbidden: refused('The credential or the policies do not allow it.'),
      Refused: refused('The request was refused; `code` says why.'),
      Failed: refused('The gateway cannot do it now; `code` says why.'),
    },
    schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function contentOf(name: string): JsonObject {
  return { 'application/problem+json': { schema: { $ref: `#/components/schemas/${name}` } } };
}

const REFUSALS: JsonObject = {
  '401': { $ref: '#/components/responses/Unauthenticated' },
  '403': { $ref: '#/components/responses/Forbidden' },
  '4XX': { $ref: '#/components/responses/Refused' },
  '5XX': { $ref: '#/components/responses/Failed' },
};

function operationOf(row: Route, schemas: Schemas): JsonObject {
  const { params, query, headers = {}, body, sentence, scope } = row;
  const parameters = [
    ...parametersOf('path', params, schemas),
    ...parametersOf('query', query, schemas),
    ...Object.entries(headers).flatMap(([name, description]) => headerOf(name, description)),
  ];
  return {
    ...summaryOf(row.name, row.tag, sentence),
    ...securityOf(scope),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: bodyOf(body, schemas) } }),
    responses: { ...repliesOf(row, schemas), ...REFUSALS },
  };
}

function standingOf(
  { name, sentence, scope, type, schema }: StandingOperation,
  schemas: Schemas,
): JsonObject {
  const media = schema === undefined ? {} : { schema: schemaOf(schema, 'output', schemas) };
  const ok = { description: sentence, content: { [type]: media } };
  return {
    ...summaryOf(name, 'operations', sentence),
    ...securityOf(scope),
    responses: { '200': ok, ...REFUSALS },
  };
}

function summaryOf(operationId: string, tag: string, sentence: string): JsonObject {
  const [summary = sentence] = /^.*?[.](?=\s|$)/s.exec(sentence) ?? [];
  return {
    ...{ operationId, tags: [tag], summary },
    ...(summary === sentence ? {} : { description: sentence }),
  };
}

/** The roles of a bearer token are the scopes that it needs; an empty list asks for nobody in particular. */
function securityOf(scope: Scope | 'anybody' | null): JsonObject {
  if (scope === 'anybody') return { security: [] };
  return { security: [{ token: scope === null ? [] : [scope] }] };
}

function parametersOf(place: 'path' | 'query', shape: ZodType | undefined, schemas: Schemas): JsonObject[] {
  if (shape === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(shape, 'input', schemas) as {
    properties?: Record<string, JsonObject>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    ...{ name, in: place, required: place === 'path' || required.includes(name) },
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

/** What is negotiated by `accept` is told by the types of the reply. */
function headerOf(name: string, description: string): JsonObject[] {
  if (name === 'accept') return [];
  return [{ name, in: 'header', required: false, description, schema: { type: 'string' } }];
}

function bodyOf(body: NonNullable<Route['body']>, schemas: Schemas): JsonObject {
  if (body.type === 'application/json')
    return { [body.type]: { schema: schemaOf(body.schema, 'input', schemas) } };
  const description = `The bytes as they are, at most ${body.maxBytes}.`;
  return { [body.type]: { schema: { type: 'string', format: 'binary', description } } };
}

function repliesOf({ replies, headers }: Route, schemas: Schemas): JsonObject {
  const entries = Object.entries(replies).map(([status, { type, schema, sentence }]) => {
    const media = schema === undefined ? {} : { schema: schemaOf(schema, 'output', schemas) };
    const events = headers?.accept === undefined ? {} : { 'text/event-stream': {} };
    return [status, { description: sentence, content: { [type]: media, ...events } }];
  });
  return Object.fromEntries(entries);
}

/** The schema of one place; those with a name go to the components. */
function schemaOf(schema: ZodType, io: 'input' | 'output', schemas: Schemas): JsonObject {
  const {
    $schema: _,
    $defs = {},
    ...own
  } = JSON.parse(
    JSON.stringify(
      z.toJSONSchema(schema, {
        ...{ io, target: 'draft-2020-12', unrepresentable: 'any', reused: 'inline' },
        override: ({ jsonSchema }) => {
          // A reply may get more members one day; a request may not.
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
