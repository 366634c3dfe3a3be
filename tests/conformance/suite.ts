import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../../tools/command.mjs';
import { nodeOf } from '../../tools/node24.mjs';

/* The conformance suite of the protocol's authors, as its own command line runs it, and what it wrote down. */

const PACKAGE = new URL('./peers/node_modules/@modelcontextprotocol/conformance/', import.meta.url);
const SUITE = fileURLToPath(new URL('dist/index.js', PACKAGE));
const OLDEST_NODE = 22;

type Status = 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';

export type Scenario = {
  readonly name: string;
  readonly checks: readonly { readonly id: string; readonly status: Status }[];
};

export type SuiteRun = {
  readonly ok: boolean;
  readonly output: string;
  readonly scenarios: readonly Scenario[];
};

/** The scenarios for servers that a revision of the protocol asks for; the suite runs some more. */
export function requiredBy(revision: string): readonly string[] {
  const text = readFileSync(new URL(`requirements/${revision}.yaml`, PACKAGE), 'utf8');
  return entriesOf(/^server:\n((?: {2}- .+\n)+)/m.exec(text)?.[1] ?? '');
}

/** What is expected to fail, as `scenario:check`, in the order of the alphabet. */
export function expectedFailures(baseline: URL): readonly string[] {
  return [...entriesOf(readFileSync(baseline, 'utf8'))].sort();
}

function entriesOf(text: string): readonly string[] {
  return [...text.matchAll(/^ {2}- (.+)$/gm)].map(([, entry = '']) => entry);
}

/** Runs every scenario for servers that a revision of the protocol names. */
export async function runSuite(url: string, revision: string, baseline: URL): Promise<SuiteRun> {
  const results = mkdtempSync(join(tmpdir(), 'palisade-conformance-'));
  try {
    const words = ['server', '--url', url, '--requirements', revision, '--output-dir', results];
    words.push('--expected-failures', fileURLToPath(baseline));
    const { ok, output } = await run(await nodeOf(OLDEST_NODE), [SUITE, ...words], {
      cwd: results,
      env: process.env,
    });
    return { ok, output, scenarios: scenariosIn(results) };
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}

const FOLDER = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/;

function scenariosIn(results: string): readonly Scenario[] {
  return readdirSync(results, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name === 'checks.json')
    .map(({ parentPath }) => {
      const [, name = parentPath] = FOLDER.exec(basename(parentPath)) ?? [];
      return { name, checks: JSON.parse(readFileSync(join(parentPath, 'checks.json'), 'utf8')) };
    });
}

/** All checks that ended in one of these ways, as `scenario:check`, in the order of the alphabet. */
export function checksThat(
  scenarios: readonly Scenario[],
  ...statuses: readonly Status[]
): readonly string[] {
  return scenarios
    .flatMap(({ name, checks }) =>
      checks.filter(({ status }) => statuses.includes(status)).map(({ id }) => `${name}:${id}`),
    )
    .sort();
}
