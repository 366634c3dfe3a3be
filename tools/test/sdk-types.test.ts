import { describe, expect, test } from 'vitest';
import { printApi } from '../sdk-types.mjs';

const json = (schema: object) => ({ 'application/json': { schema } });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const row = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } };
const document = {
  components: {
    schemas: {
      Row: row,
      Whole: {
        type: 'object',
        required: ['id', 'state', 'parts'],
        properties: {
          ...row.properties,
          state: { enum: ['on', 'off'], description: 'What it is.' },
          parts: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
          note: { type: ['string', 'null'] },
          extra: {},
        },
      },
      Unused: { type: 'object', properties: { a: { type: 'string' } } },
    },
  },
  paths: {
    '/v1/things/{id}': {
      get: { operationId: 'getThing', tags: ['things'], responses: { 200: { content: json(ref('Whole')) } } },
      put: {
        operationId: 'setThing',
        tags: ['things'],
        requestBody: { content: { 'application/octet-stream': { schema: { format: 'binary' } } } },
        responses: {
          201: { content: json({ type: 'object', additionalProperties: { type: 'integer' } }) },
          '4XX': { content: { 'application/problem+json': { schema: ref('Row') } } },
        },
      },
    },
    '/healthz': {
      get: { operationId: 'getHealth', tags: ['operations'], responses: { 200: { content: json(row) } } },
    },
  },
};

describe('printApi()', () => {
  const text = printApi(document);

  test('prints each shape once, as what it adds to another', () => {
    expect(text).toContain('  readonly Row: {\n    readonly id: string;\n  };');
    expect(text).toContain("  readonly Whole: Schemas['Row'] & {");
    expect(text).not.toContain('Unused');
  });

  test('prints choices, lists, what may be left out and what may be anything', () => {
    expect(text).toContain("    /** What it is. */\n    readonly state: 'on' | 'off';");
    expect(text).toContain('readonly parts: readonly (string | null)[];');
    expect(text).toContain('readonly note?: string | null | undefined;');
    expect(text).toContain('readonly extra?: Json | undefined;');
  });

  test('prints what each operation takes and gives, and where it is', () => {
    expect(text).toContain("readonly getThing: Schemas['Whole'];");
    expect(text).toContain('readonly setThing: { readonly [key: string]: number };');
    expect(text).toContain('readonly setThing: Uint8Array | Blob;');
    expect(text).toContain("readonly setThing: Schemas['Row'];");
    expect(text).toContain("  setThing: { method: 'PUT', path: '/v1/things/{id}' },");
    expect(text).toContain("  getHealth: { method: 'GET', path: '/healthz' },");
    expect(text).not.toContain('readonly getHealth');
  });
});
