import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONFIG_KEYS } from '../../src/config/config.table.ts';
import type { StateDir } from '../../src/config/environment.ts';
import { loadConfig } from '../../src/config/load.ts';
import { showConfig } from '../../src/config/show.ts';
import { makeScratch } from './scratch.ts';

const { directory, load } = makeScratch();
const STATE: StateDir = { path: '/s', origin: 'environment PALISADE_STATE' };

async function shown(content: string): Promise<Map<string, readonly [unknown, string]>> {
  const rows = await showConfig(await load(content), STATE);
  return new Map(rows.map(({ key, value, origin }) => [key, [value, origin]]));
}

describe('showConfig()', () => {
  it('shows every key with its sentence when there is no file', async () => {
    const rows = await showConfig(await loadConfig({ stateDir: join(directory, 'absent') }), STATE);
    expect(rows[0]).toMatchObject({ key: 'state', value: '/s', origin: 'environment PALISADE_STATE' });
    for (const { key, default: value, sentence } of CONFIG_KEYS) {
      if (/^(groups|secret|upstream|registry|budget)/.test(key)) continue;
      expect(rows).toContainEqual({ key, value, origin: 'default', sentence });
    }
    expect(rows.filter(({ key }) => key.startsWith('secret'))).toEqual([]);
    expect(rows.filter(({ key }) => key.startsWith('budget')).map(({ key, value }) => [key, value])).toEqual([
      ['budget[0].name', 'run'],
      ['budget[1].name', 'principal-hour'],
      ['budget[2].name', 'tenant-day'],
      ['budget[0].per', 'run'],
      ['budget[1].per', 'principal'],
      ['budget[2].per', 'tenant'],
      ['budget[0].match', 'agent:*'],
      ['budget[1].window', '1h'],
      ['budget[2].window', '1d'],
      ['budget[0].calls', 1_000],
      ['budget[1].calls', 10_000],
      ['budget[2].calls', 100_000],
    ]);
  });

  it('names the line of each value that the file sets, however it is written', async () => {
    const rows = await shown(`
limits = { wall_ms = 1, cpu_ms = 2 }
policy.reload_ms = 3
[groups]
ops = ["user:eve"]
"team.a" = []
[[budget]]
name = "a"
per = "run"
calls = 1
[[budget]]
name = "b"
per = "tool"
window = "90m"
fuel = 4
`);
    expect(rows.get('limits.wall_ms')).toEqual([1, 'palisade.toml:2']);
    expect(rows.get('limits.cpu_ms')).toEqual([2, 'palisade.toml:2']);
    expect(rows.get('limits.fuel')).toEqual([10_000_000, 'default']);
    expect(rows.get('policy.reload_ms')).toEqual([3, 'palisade.toml:3']);
    expect(rows.get('groups.ops')).toEqual([['user:eve'], 'palisade.toml:5']);
    expect(rows.get('groups."team.a"')).toEqual([[], 'palisade.toml:6']);
    expect(rows.get('budget[0].calls')).toEqual([1, 'palisade.toml:10']);
    expect(rows.get('budget[1].window')).toEqual(['90m', 'palisade.toml:14']);
    expect(rows.get('budget[1].fuel')).toEqual([4, 'palisade.toml:15']);
  });

  it('shows where each secret is and never what it is', async () => {
    const file = join(directory, 'token');
    writeFileSync(file, 'the-value-itself', { mode: 0o600 });
    const rows = await shown(`
[[secret]]
name = "github"
variable = "GITHUB_TOKEN"
hosts = ["api.github.com", "*.example.com:8443"]
file = "${file}"
`);
    expect([...rows].filter(([key]) => key.startsWith('secret'))).toEqual([
      ['secret[0].name', ['github', 'palisade.toml:3']],
      ['secret[0].variable', ['GITHUB_TOKEN', 'palisade.toml:4']],
      ['secret[0].hosts', [['api.github.com', '*.example.com:8443'], 'palisade.toml:5']],
      ['secret[0].file', [file, 'palisade.toml:6']],
    ]);
    expect(JSON.stringify([...rows])).not.toContain('the-value-itself');
  });

  it('shows a duration as it is written, and a file that is not named as nothing', async () => {
    const rows = await shown('[skills]\nreaudit_after = "48h"');
    expect(rows.get('skills.reaudit_after')).toEqual(['2d', 'palisade.toml:2']);
    expect(rows.get('skills.advisories')).toEqual(['', 'default']);
  });

  it('names the line of the ceiling that pressed a limit down', async () => {
    const rows = await shown('[ceilings]\nwall_ms = 500\nfuel = 20_000_000');
    expect(rows.get('limits.wall_ms')).toEqual([500, 'palisade.toml:2']);
    expect(rows.get('limits.fuel')).toEqual([10_000_000, 'default']);
  });
});
