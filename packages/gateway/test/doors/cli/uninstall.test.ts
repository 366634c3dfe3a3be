import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Presence } from '../../../src/store/presence.ts';
import { makeScratch, palisade } from './palisade.ts';

/* A machine on which palisade was set up, and what is left of it. */

const scratch = makeScratch();
let count = 0;

/** A home with a client that had settings before; all of it set up as a user does. */
async function setUp() {
  count += 1;
  const home = join(scratch, `home-${count}`);
  mkdirSync(join(home, '.claude'), { recursive: true });
  writeFileSync(join(home, '.claude', 'settings.json'), '{}');
  const settings = '{ "theme": "dark" }\n';
  writeFileSync(join(home, '.claude.json'), settings);
  const env = { HOME: home, PATH: '/usr/bin:/bin' };
  const run = async (words: readonly string[], status = 0) => {
    const finished = await palisade([...words, '--json'], { env });
    expect(finished.status, `${words.join(' ')}: ${finished.out}${finished.err}`).toBe(status);
    return JSON.parse(finished.out);
  };
  await run(['connect', 'claude-code', '--http']);
  await run(['service', 'install', '--user', '--no-start']);
  await run(['completion', 'install', 'bash']);
  await run(['call', 'palisade.echo']);
  const state = join(home, '.local/state/palisade');
  return { home, state, settings, run };
}

/** The files below a folder. */
function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

test('palisade uninstall shows a plan, does nothing unconfirmed, and keeps the state directory', async () => {
  const { home, state, settings, run } = await setUp();
  const before = filesIn(home).sort();
  const shown = await run(['uninstall', '--dry-run']);
  const kinds = shown.steps.map(({ kind }: { kind: string }) => kind);
  expect(kinds).toEqual(['service', 'service', 'client', 'shell', 'shell', 'kept']);
  expect((await run(['uninstall'], 64)).remedy).toContain('--yes');
  expect(filesIn(home).sort()).toEqual(before);

  expect((await run(['uninstall', '--yes'])).failed).toEqual([]);
  expect(readFileSync(join(home, '.claude.json'), 'utf8')).toBe(settings);
  expect(existsSync(join(home, '.config/systemd/user/palisade.service'))).toBe(false);
  expect(existsSync(join(home, '.local/share/bash-completion/completions/palisade'))).toBe(false);
  expect((await run(['journal', 'verify'])).ok).toBe(true);
  expect((await run(['token', 'list'])).tokens[0].state).toBe('revoked');
  const again = await run(['uninstall', '--yes']);
  expect(again.steps.map(({ kind }: { kind: string }) => kind)).toEqual(['kept']);
  expect(existsSync(state)).toBe(true);
});

test('palisade uninstall --export leaves an export that verifies, and nothing else of palisade', async () => {
  const { home, state, run } = await setUp();
  const file = join(home, 'journal.jsonl');
  await run(['uninstall', '--yes', '--export', file]);
  expect(existsSync(state)).toBe(false);
  const left = filesIn(home).filter((path) => !path.includes('.claude'));
  expect(left.sort()).toEqual([file, `${file}.keys`]);
  const { ok, checks } = await run(['verify', file, '--key', `${file}.keys`]);
  expect(ok, JSON.stringify(checks)).toBe(true);
});

test('palisade uninstall never removes what the operator wrote or edited', async () => {
  const { home, state, run } = await setUp();
  const mine = join(state, 'policies', '50-mine.cedar');
  const edited = join(state, 'policies', '10-calls.cedar');
  const config = join(state, 'palisade.toml');
  const notes = join(state, 'notes.txt');
  const text = '@id("mine")\nforbid (principal == Palisade::Agent::"default/eve", action, resource);\n';
  writeFileSync(mine, text);
  writeFileSync(edited, `${readFileSync(edited, 'utf8')}// mine\n`);
  for (const path of [config, notes]) writeFileSync(path, '# mine\n', { mode: 0o600 });
  const unit = join(home, '.config/systemd/user/palisade.service');
  writeFileSync(unit, `${readFileSync(unit, 'utf8')}# mine\n`);
  const { steps } = await run(['uninstall', '--yes', '--purge']);
  const kept = steps.filter(({ kind }: { kind: string }) => kind === 'kept');
  for (const path of [mine, edited, config, notes, unit]) {
    expect(kept.some(({ what }: { what: string }) => what.startsWith(path))).toBe(true);
    expect(existsSync(path)).toBe(true);
  }
  expect(filesIn(state).sort()).toEqual([edited, mine, notes, config].sort());
});

test('palisade uninstall --purge stops before a state directory that is in use', async () => {
  const { state, run } = await setUp();
  const presence = new Presence(state, 'p_other');
  onTestFinished(() => presence.close());
  const { failed } = await run(['uninstall', '--yes', '--purge'], 64);
  expect(failed[0]).toContain('another process uses it');
  expect(existsSync(join(state, 'palisade.db'))).toBe(true);
});

test.each([
  [['--export', '/tmp/x', '--purge'], 'expected one of them'],
  [['--export', '/etc/passwd'], 'expected a new file'],
])('palisade uninstall %j is refused before anything is done', async (words, why) => {
  const { home, run } = await setUp();
  const before = filesIn(home).sort();
  expect((await run(['uninstall', '--yes', ...words], 64)).message).toContain(why);
  expect(filesIn(home).sort()).toEqual(before);
});
