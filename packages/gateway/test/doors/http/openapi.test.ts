import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALL_SCOPES } from '../../../src/core/caller.ts';
import { openApiDocument } from '../../../src/doors/http/openapi.ts';
import { OPERATIONS } from '../../../src/operations/all.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

const REDOCLY = join(import.meta.dirname, '../../../../../node_modules/.bin/redocly');

type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly { readonly token?: readonly string[] }[];
};
type Document = {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

const document = openApiDocument(OPERATIONS, '0.1.0') as unknown as Document;
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

type Linted = { readonly status: number; readonly problems: readonly { readonly ruleId: string }[] };

/** Runs the linter where it can reach nothing and finds no configuration but ours. */
function lint(text: string): Linted {
  const folder = tempDir();
  writeFileSync(join(folder, 'redocly.yaml'), 'extends: [recommended]\ntelemetry: off\n');
  writeFileSync(join(folder, 'openapi.json'), text);
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  };
  const words = ['lint', 'openapi.json', '--format', 'json', '--max-problems', '50'];
  const parse = (out: string) =>
    (JSON.parse(out.slice(out.indexOf('{'), out.lastIndexOf('}') + 1)) as { problems: Linted['problems'] })
      .problems;
  try {
    const out = execFileSync(REDOCLY, words, { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
    return { status: 0, problems: parse(out) };
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string };
    return { status, problems: parse(stdout) };
  }
}

describe('the OpenAPI document', () => {
  it('has no error and no warning for a linter with its recommended rules', () => {
    expect(lint(JSON.stringify(document))).toEqual({ status: 0, problems: [] });
  });

  it('would not pass that linter with a mistake in it', () => {
    const broken = { ...document, paths: { ...document.paths, '/v1/x': { get: { responses: {} } } } };
    expect(lint(JSON.stringify(broken)).problems.map(({ ruleId }) => ruleId)).toContain(
      'operation-operationId',
    );
  });

  it('has every row of the table as one operation', () => {
    for (const {
      name,
      http: { method, path },
    } of OPERATIONS)
      expect(document.paths[path]?.[method.toLowerCase()]?.operationId, `${method} ${path}`).toBe(name);
  });

  it('names each operation once', () => {
    const names = operations.map(({ operationId }) => operationId);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  it('says of each operation which scope it needs, and asks for a credential everywhere but in the open', () => {
    const open = operations.filter(({ security }) => security.length === 0).map((each) => each.operationId);
    expect(open.sort()).toEqual([
      'getHealth',
      'getMcpResourceMetadata',
      'getOpenApi',
      'getReadiness',
      'getResourceMetadata',
    ]);
    const roles = new Set(operations.flatMap(({ security }) => security[0]?.token ?? []));
    expect([...roles].filter((role) => !ALL_SCOPES.some((scope) => scope === role))).toEqual([]);
  });

  it('says what each tag is about', () => {
    const bare = document.tags.filter(({ name, description }) => description === name);
    expect(bare).toEqual([]);
  });
});
