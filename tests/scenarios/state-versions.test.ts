import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeScratch, palisade, useBuild } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { makeNewer } from '../../packages/gateway/test/store/newer.ts';

/* State directories that earlier versions left are upgraded, verify and go on; one of a newer version is refused by name. */

const FOLDER = join(import.meta.dirname, '../fixtures/states');
const FIXTURES = readdirSync(FOLDER).filter((name) => name.endsWith('.tar.xz'));
const PATIENCE_MS = 300_000;

useBuild();
const scratch = makeScratch();

type Facts = {
  readonly version: string;
  readonly tool: string | null;
  readonly tokens?: number;
  readonly secrets?: number;
  readonly call: string;
  readonly receipt: string;
  readonly records: { readonly size?: number };
};

type Left = { readonly state: string; readonly facts: Facts };

/** Unpacks what a version left. */
function unpack(fixture: string, name: string): Left {
  const folder = join(scratch, name);
  mkdirSync(folder);
  execFileSync('tar', ['-xJf', join(FOLDER, fixture), '-C', folder, '--no-same-owner']);
  return {
    state: join(folder, 'state'),
    facts: JSON.parse(readFileSync(join(folder, 'facts.json'), 'utf8')),
  };
}

async function json(words: readonly string[], state: string, statuses = [0]) {
  const finished = await palisade([...words, '--json', '--state', state]);
  expect(statuses, `${words.join(' ')}: ${finished.out}${finished.err}`).toContain(finished.status);
  return JSON.parse(finished.out);
}

describe.each(FIXTURES)('the state directory %s', (fixture) => {
  let left: Left;
  beforeAll(() => {
    left = unpack(fixture, fixture.replace('.tar.xz', ''));
  });

  test(
    'is tried on a copy, upgraded after a backup, verifies, goes on, and can be had back',
    async () => {
      const { state, facts } = left;
      const before = readFileSync(join(state, 'palisade.db'));
      const checked = await json(['upgrade', '--check'], state, [1]);
      expect(checked).toMatchObject({ state: 'older', problems: [], backups: [] });
      expect(checked.pending.length).toBeGreaterThan(0);
      expect(readFileSync(join(state, 'palisade.db')).equals(before), 'the check changes nothing').toBe(true);
      expect(readdirSync(state).filter((name) => name.startsWith('upgrade-check-'))).toEqual([]);

      const upgraded = await json(['upgrade'], state);
      expect(upgraded.applied).toEqual(checked.pending);
      expect((await json(['upgrade', '--check'], state)).state).toBe('current');

      const verified = await json(['journal', 'verify'], state);
      expect(verified.ok).toBe(true);
      expect(await json(['receipt', facts.call], state)).toEqual(JSON.parse(facts.receipt));
      expect((await json(['call', 'palisade.echo'], state)).status).toBe('ok');
      const tools = (await json(['tools', 'list'], state)).tools.map(({ id }: { id: string }) => id);
      expect(tools).toEqual(expect.arrayContaining(facts.tool === null ? [] : [facts.tool]));
      expect((await json(['token', 'list'], state)).tokens).toHaveLength(facts.tokens ?? 1);
      expect((await json(['secrets', 'list'], state)).secrets).toHaveLength(facts.secrets ?? 1);
      expect((await json(['journal', 'verify'], state)).ok).toBe(true);

      // Before anything is asked: there is nothing to confirm.
      const unknown = await json(['upgrade', '--restore', 'yesterday'], state, [64]);
      expect(unknown).toMatchObject({ remedy: expect.stringContaining('palisade upgrade --check') });
      const { restored } = await json(['upgrade', '--restore', upgraded.backup.name, '--yes'], state);
      expect(restored.name).toBe(upgraded.backup.name);
      const again = await json(['upgrade', '--check'], state, [1]);
      expect(again.pending).toEqual(checked.pending);
      expect(again.backups).toHaveLength(2);
      expect((await json(['journal', 'verify'], state)).ok).toBe(true);
    },
    PATIENCE_MS,
  );

  test('is refused, with the version and a remedy, once a newer palisade has changed it', async () => {
    const { state } = unpack(fixture, `${fixture}-newer`);
    makeNewer(state, '7.1.0');
    for (const words of [['call', 'palisade.echo'], ['upgrade'], ['journal', 'verify'], ['serve']]) {
      const refused = await json(words, state, [2]);
      expect(refused).toMatchObject({
        code: 'store/newer',
        message: expect.stringContaining('palisade 7.1.0'),
      });
      expect(refused.remedy).toContain('Install palisade 7.1.0 or newer');
    }
    const checked = await json(['upgrade', '--check'], state, [2]);
    expect(checked).toMatchObject({ state: 'problem', writtenBy: '7.1.0' });
  });
});

test('an upgrade names a configuration and policies that this version would refuse', async () => {
  const [fixture = ''] = FIXTURES;
  const { state } = unpack(fixture, 'refused');
  writeFileSync(
    join(state, 'policies', '50-broken.cedar'),
    'permit (principal, action, resource);\nnonsense',
  );
  const checked = await json(['upgrade', '--check'], state, [2]);
  expect(checked.problems[0].what).toContain('50-broken.cedar');
  writeFileSync(join(state, 'palisade.toml'), '[journal]\nno_such_key = 1\n');
  const refused = await json(['upgrade', '--check'], state, [2]);
  expect(refused.problems[0].what).toContain('no_such_key');
});

test('a segment of the journal that is indexed as in 0.1.0 is searched and verifies', async () => {
  const { state } = unpack('0.1.0-c9edc96a.tar.xz', 'old-segment');
  const folder = join(state, 'journal');
  const [segment = ''] = readdirSync(folder);
  const old = `DROP INDEX journal_record_search;
    CREATE INDEX journal_record_at ON journal_record (at_ms);
    CREATE INDEX journal_record_kind ON journal_record (kind)`;
  execFileSync('sqlite3', [join(folder, segment), old]);
  const found = await json(['journal', 'search', '--kind', 'founded'], state);
  expect(found.records).toHaveLength(1);
  expect((await json(['journal', 'verify'], state)).ok).toBe(true);
});
