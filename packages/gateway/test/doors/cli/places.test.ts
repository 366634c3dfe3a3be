import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type How, makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const [flag, variable, xdg, home] = ['flag', 'variable', 'xdg', 'home'].map((name) =>
  join(scratch, name),
) as [string, string, string, string];

/** Where `palisade config show` says the state directory is, and why. */
async function stateOf(words: readonly string[], how: How): Promise<{ value: string; origin: string }> {
  const { out } = await palisade(['config', 'show', '--json', ...words], { cwd: scratch, ...how });
  const [state] = JSON.parse(out).settings;
  return { value: state.value, origin: state.origin };
}

describe('the state directory', () => {
  const all = { PALISADE_STATE: variable, XDG_STATE_HOME: xdg, HOME: home };

  test.each([
    ['--state before everything', ['--state', flag], all, flag, 'flag --state'],
    ['PALISADE_STATE before the convention', [], all, variable, 'environment PALISADE_STATE'],
    [
      'XDG_STATE_HOME before the home',
      [],
      { XDG_STATE_HOME: xdg, HOME: home },
      join(xdg, 'palisade'),
      'environment XDG_STATE_HOME',
    ],
    ['the home without any', [], { HOME: home }, join(home, '.local/state/palisade'), 'default'],
    [
      'the home when XDG_STATE_HOME is relative',
      [],
      { XDG_STATE_HOME: 'x', HOME: home },
      join(home, '.local/state/palisade'),
      'default',
    ],
    [
      'a relative --state from the current directory',
      ['--state', 'here'],
      {},
      join(scratch, 'here'),
      'flag --state',
    ],
  ])('is %s', async (_, words, env, value, origin) => {
    expect(await stateOf(words, { env })).toEqual({ value, origin });
    expect(existsSync(value)).toBe(false);
  });

  test('is made for its owner alone, and one that others can enter is refused with the fix', async () => {
    await palisade(['journal', 'tail', '--state', flag]);
    chmodSync(flag, 0o755);
    const { status, err } = await palisade(['call', 'palisade.echo', '--state', flag]);
    expect(err).toContain('its mode is 755, expected 700');
    expect(err).toContain(`chmod 700 ${flag}`);
    expect(status).toBe(2);
  });
});

describe('palisade.toml', () => {
  const own = join(scratch, 'configured');
  mkdirSync(own, { mode: 0o700 });

  test.each([
    [
      'an unknown key',
      '[limits]\nwal_ms = 1\n',
      'palisade.toml:2:1: Cannot use the key "limits.wal_ms": it is unknown',
    ],
    ['a wrong value', '[limits]\n\nwall_ms = 0\n', 'palisade.toml:3:11: Cannot use limits.wall_ms: it is 0'],
    ['no TOML', '[limits\n', 'palisade.toml:1:'],
    [
      'no UTF-8',
      Buffer.from('23ff0a', 'hex'),
      'palisade.toml:1:2: Cannot read the file: it has bytes that are not UTF-8',
    ],
  ])('with %s stops every command at its line and column', async (_, content, why) => {
    writeFileSync(join(own, 'palisade.toml'), content);
    for (const words of [
      ['call', 'palisade.echo'],
      ['journal', 'tail'],
      ['config', 'show'],
    ]) {
      const { status, out } = await palisade([...words, '--json', '--state', own]);
      expect(JSON.parse(out)).toMatchObject({
        code: 'config/invalid',
        message: expect.stringContaining(why),
      });
      expect(status).toBe(2);
    }
  });

  test('with an error is a finding of doctor, with what to do', async () => {
    writeFileSync(join(own, 'palisade.toml'), '[limits]\nwal_ms = 1\n');
    const { status, out } = await palisade(['doctor', '--state', own]);
    expect(out).toMatch(/✗ .*palisade\.toml:2:1: .*\n {2}→ Correct the line/);
    expect(status).toBe(2);
  });
});

describe('colours', () => {
  test.each([[{ NO_COLOR: '1' }], [{ FORCE_COLOR: '1' }], [{}]])(
    'are never written to a pipe (%j)',
    async (env) => {
      const { out, err } = await palisade(['call', 'no.such.tool', '--state', join(scratch, 'plain')], {
        env,
      });
      expect(out + err).toContain('refused  registry/unknown-tool');
    },
  );
});
