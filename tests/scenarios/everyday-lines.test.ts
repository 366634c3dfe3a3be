import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { everydayLines } from '../fixtures/everyday/corpus.ts';
import { DIFFERENCES } from '../fixtures/everyday/differences.table.ts';
import { writeProject } from '../fixtures/everyday/project.ts';
import { freshCopy, type LineResult, own, runInJail, runOutside } from '../fixtures/everyday/run-line.ts';
import { sample } from '../volume/volume.ts';

/*
 * Shell lines of the kind that coding agents write. Each runs twice in a fresh copy of a small project, in a shell of an
 * ordinary user and as a command in tier C with the settings of a new installation, and has to end, print and leave the
 * same.
 */

const base = mkdtempSync('/var/tmp/palisade-everyday-');
const [template, home] = [join(base, 'template'), join(base, 'home')];
mkdirSync(template);
mkdirSync(home);
// Who commits: outside by the settings of the system, in the jail by those of the gateway's home.
const gitConfig = join(home, '.gitconfig');
writeFileSync(gitConfig, '[user]\n\tname = Grace "Amazing" Hopper\n\temail = grace@example.com\n');
const outside = { path: '/usr/local/bin:/usr/bin:/bin', gitConfig };

const gateway = sharedGateway('', { HOME: home });
const LANES = [1, 2];
const LEAST_LINES = 25;

beforeAll(() => {
  writeProject(template);
  own(base);
  own(gateway.workspace);
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const ALL = everydayLines();
const LINES = sample(ALL, LEAST_LINES);
const THEMES = [...new Set(LINES.map(({ theme }) => theme))];

describe('a line that an agent writes behaves in the jail as outside, if it is about', () => {
  test.each(THEMES)('%s', { timeout: 1_800_000 }, async (theme) => {
    const queue = LINES.filter((line) => line.theme === theme);
    const problems: object[] = [];
    const work = async (lane: number) => {
      for (let line = queue.shift(); line !== undefined; line = queue.shift()) {
        const text = await withFreePort(line.text);
        const problem = await compare(text, join(gateway.workspace, `lane-${lane}`, 'project'));
        if (problem !== null) problems.push({ line: text, ...problem });
      }
    };
    await Promise.all(LANES.map(work));
    expect(problems).toEqual([]);
  });
});

describe('the corpus', () => {
  test('has at least 500 lines, each once', () => {
    const texts = ALL.map(({ text }) => text);
    expect(texts.length).toBeGreaterThanOrEqual(500);
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('shows every difference', () => {
    const texts = new Set(ALL.map(({ text }) => text));
    const shown = DIFFERENCES.flatMap(({ lines }) => lines);
    expect(shown.filter((line) => !texts.has(line))).toEqual([]);
  });
});

/** How the line differs in the jail; null where it does not, or as the table says. */
async function compare(text: string, directory: string): Promise<object | null> {
  mkdirSync(join(directory, '..'), { recursive: true });
  freshCopy(template, directory);
  own(join(directory, '..'));
  const expected = await runOutside(text, directory, outside);
  freshCopy(template, directory);
  const actual = await runInJail(text, directory, gateway.run);
  // A program that is missing is missing on both sides, and would prove nothing.
  const absent = /^.*: command not found$/m.exec(expected.stderr)?.[0];
  if (absent !== undefined && !/no-such|no_such/.test(absent)) return { absent };
  const difference = DIFFERENCES.find(({ lines }) => lines.includes(text));
  if (difference !== undefined)
    return difference.inside.test(actual.stdout) ? null : { difference: difference.name, actual };
  return isSame(expected, actual) ? null : changed(expected, actual);
}

function isSame(one: LineResult, other: LineResult): boolean {
  const spell = ({ status, stdout, files }: LineResult) =>
    JSON.stringify([status, stdout, Object.entries(files).sort()]);
  return spell(one) === spell(other);
}

function changed(expected: LineResult, actual: LineResult): object {
  const paths = new Set([...Object.keys(expected.files), ...Object.keys(actual.files)]);
  const files = [...paths].filter((path) => expected.files[path] !== actual.files[path]);
  const brief = ({ status, stdout, stderr, files: all }: LineResult) => ({
    status,
    stdout,
    stderr: stderr.slice(0, 500),
    files: files.slice(0, 5).map((path) => `${path}: ${all[path]}`),
  });
  return { outside: brief(expected), jail: brief(actual) };
}

/** The line with ports that nobody listens on in place of its own, as other programs may be on them. */
async function withFreePort(text: string): Promise<string> {
  if (!/\b180\d\d\b/.test(text)) return text;
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await new Promise((done) => server.close(done));
  return text.replace(/\b180\d\d\b/g, String(port));
}
