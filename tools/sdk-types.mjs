/**
 * Writes the wire types of the SDK from the OpenAPI document that the table of operations gives, so that the client cannot
 * name a member that the gateway does not have. `--write` brings packages/sdk/src/api.generated.ts up to date.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { problem, runAsCommand } from './check.mjs';
import { readModule } from './ts-table.mjs';

const FILE = 'packages/sdk/src/api.generated.ts';

const DOCUMENT = `
import { openApiDocument } from './packages/gateway/src/doors/http/openapi.ts';
import { OPERATIONS } from './packages/gateway/src/operations/all.ts';
export const document = openApiDocument(OPERATIONS, '');
`;

const HEAD = `/* Written by tools/sdk-types.mjs from the OpenAPI document of the gateway: change the operation, then run \`npm run fix\`. */

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
`;

/** Compares the file with what it has to be; with \`write\`, writes it. */
export async function check(root, { write = false } = {}) {
  const { document } = await readModule(root, DOCUMENT);
  const text = printApi(document);
  const path = join(root, FILE);
  if (write) writeFileSync(path, text);
  const isCurrent = existsSync(path) && readFileSync(path, 'utf8') === text;
  const problems = isCurrent ? [] : [problem(FILE, 0, 'use the types: they are old, run `npm run fix`')];
  return { problems, scanned: Object.keys(document.paths).length, unit: 'path' };
}

/** The whole file. */
export function printApi({ paths, components }) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const { schemas } = components;
  const replies = operations.flatMap(({ operation }) => member(operation, replyOf(operation), schemas));
  const bodies = operations.flatMap(({ operation }) => member(operation, bodyOf(operation), schemas));
  const routes = operations.map(
    ({ path, method, operation }) =>
      `  ${operation.operationId}: { method: '${method.toUpperCase()}', path: '${path}' },`,
  );
  const events = operations.flatMap(({ operation }) => member(operation, eventsOf(operation), schemas));
  const problems = operations.flatMap(({ operation }) => member(operation, problemOf(operation), schemas));
  const used = [...replies, ...bodies, ...events, ...problems].join('\n');
  const named = Object.entries(schemas)
    .filter(([name]) => isReached(name, used, schemas))
    .map(([name, schema]) => {
      const bases = Object.entries(schemas).filter(([other]) => other !== name);
      return `  readonly ${name}: ${typeOf(schema, Object.fromEntries(bases), '  ')};`;
    });
  return [
    HEAD,
    `/** The documents that have a name. */\nexport type Schemas = {\n${named.join('\n')}\n};\n`,
    `/** What operations give as JSON. */\nexport type Replies = {\n${replies.join('\n')}\n};\n`,
    `/** What operations are sent: JSON, or bytes as they are. */\nexport type Bodies = {\n${bodies.join('\n')}\n};\n`,
    `/** The events of the operations that give some. */\nexport type Events = {\n${events.join('\n')}\n};\n`,
    `/** The problems of the operations whose problems have members of their own. */\nexport type Problems = {\n${problems.join('\n')}\n};\n`,
    `/** Where operations are. */\nexport const ROUTES = {\n${routes.join('\n')}\n} as const;\n`,
  ].join('\n');
}

/** Whether an operation or another document names this one. */
function isReached(name, used, schemas) {
  if (used.includes(`Schemas['${name}']`)) return true;
  const ref = `"#/components/schemas/${name}"`;
  const isBase = Object.values(schemas).some((other) => other.properties && baseOf(other, schemas) === name);
  return isBase || JSON.stringify(schemas).includes(ref);
}

function member({ operationId }, schema, schemas) {
  return schema === undefined ? [] : [`  readonly ${operationId}: ${typeOf(schema, schemas, '  ')};`];
}

/** What monitors read has no method that gives it. */
function replyOf({ responses, tags }) {
  if (tags.includes('operations')) return undefined;
  return (responses[200] ?? responses[201]).content['application/json']?.schema;
}

function eventsOf({ responses }) {
  return (responses[200] ?? responses[201]).content['text/event-stream']?.schema;
}

function problemOf({ responses }) {
  return responses['4XX']?.content?.['application/problem+json'].schema;
}

function bodyOf({ requestBody }) {
  return Object.values(requestBody?.content ?? {})[0]?.schema;
}

const PRIMITIVES = {
  string: 'string',
  boolean: 'boolean',
  null: 'null',
  number: 'number',
  integer: 'number',
};

/** The type of a schema. Whatever may be any JSON is Json; bytes are what a client can send as such. */
function typeOf(schema, schemas, indent) {
  const { $ref, type, enum: values, const: value, anyOf, oneOf, format } = schema;
  if ($ref !== undefined) return `Schemas['${$ref.split('/').at(-1)}']`;
  if (values !== undefined) return values.map((each) => literal(each)).join(' | ');
  if (value !== undefined) return literal(value);
  if (format === 'binary') return 'Uint8Array | Blob';
  const members =
    anyOf ?? oneOf ?? (Array.isArray(type) ? type.map((each) => ({ ...schema, type: each })) : null);
  if (members !== null) return members.map((each) => typeOf(each, schemas, indent)).join(' | ');
  if (type === 'array') return `readonly ${grouped(typeOf(schema.items, schemas, indent))}[]`;
  if (type === 'object') return objectOf(schema, schemas, indent);
  return PRIMITIVES[type] ?? 'Json';
}

const literal = (value) => (typeof value === 'string' ? `'${value}'` : String(value));
const grouped = (type) => (/[|&]|^readonly /.test(type.replace(/\{[\s\S]*\}/, '')) ? `(${type})` : type);

function objectOf(schema, schemas, indent) {
  const { properties = {}, required = [], additionalProperties } = schema;
  if (Object.keys(properties).length === 0) {
    const open = additionalProperties || {};
    return `{ readonly [key: string]: ${typeOf(open, schemas, indent)} }`;
  }
  const base = baseOf(schema, schemas);
  const inherited = base === undefined ? [] : Object.keys(schemas[base].properties);
  const lines = Object.entries(properties)
    .filter(([name]) => !inherited.includes(name))
    .map(([name, each]) => {
      const type = typeOf(each, schemas, `${indent}  `);
      const note = each.description === undefined ? '' : `${indent}  /** ${each.description} */\n`;
      const isRequired = required.includes(name);
      return `${note}${indent}  readonly ${name}${isRequired ? '' : '?'}: ${type}${isRequired ? '' : ' | undefined'};`;
    });
  const own = `{\n${lines.join('\n')}\n${indent}}`;
  return base === undefined ? own : `Schemas['${base}'] & ${own}`;
}

/** The largest named document whose members this one has all, and some more. */
function baseOf({ properties, required = [] }, schemas) {
  const isPart = ([, other]) =>
    other.properties !== undefined &&
    Object.keys(other.properties).length < Object.keys(properties).length &&
    Object.entries(other.properties).every(
      ([name, each]) =>
        JSON.stringify(each) === JSON.stringify(properties[name]) &&
        required.includes(name) === (other.required ?? []).includes(name),
    );
  const size = ([, { properties: all }]) => Object.keys(all).length;
  return Object.entries(schemas)
    .filter(isPart)
    .sort((a, b) => size(b) - size(a))[0]?.[0];
}

await runAsCommand(import.meta.url, 'sdk-types', check);
