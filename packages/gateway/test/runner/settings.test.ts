import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { sentenceOf } from '../../src/core/result.ts';
import { parseHost } from '../../src/egress/authority.ts';
import { openRunner, type RunnerSettings, settingsOf } from '../../src/runner/settings.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { makeHost } from './sample.ts';

function hostOf(raw: string) {
  const host = parseHost(raw);
  if (!host.ok) throw new Error(sentenceOf(host.problem));
  return host.value;
}

/** The settings that a text gives as palisade.toml. */
async function settingsFrom(toml: string): Promise<RunnerSettings> {
  const stateDir = tempDir();
  writeFileSync(join(stateDir, 'palisade.toml'), toml, { mode: 0o600 });
  return settingsOf(await loadConfig({ stateDir }), null);
}

describe('settingsOf()', () => {
  it.each([
    [
      'a name',
      'api.example.com',
      ['api.example.com', 'API.example.com.'],
      ['example.com', 'x.api.example.com'],
    ],
    [
      'a wildcard',
      '*.example.com',
      ['a.example.com', 'a.b.example.com'],
      ['example.com', 'evilexample.com', '10.1.2.3'],
    ],
  ])('opens TLS to %s and to nothing else', async (_, entry, inside, outside) => {
    const { isIntercepted } = await settingsFrom(`[process]\negress_intercept = ["${entry}"]`);
    for (const host of inside) expect(isIntercepted(hostOf(host)), host).toBe(true);
    for (const host of outside) expect(isIntercepted(hostOf(host)), host).toBe(false);
  });

  it.each([
    '10.1.2.3',
    '10.1.2.0/24',
    '[2001:db8::1]',
    'a.example:443',
    '!a.example',
    'GET a.example',
    'http://a.example',
  ])('opens TLS to no host for the entry %s, and says so', async (entry) => {
    const { process, ...config } = await loadConfig({ stateDir: tempDir() });
    const egressIntercept = ['a.example', entry];
    expect(() => settingsOf({ ...config, process: { ...process, egressIntercept } }, null)).toThrow(
      `process.egress_intercept: Cannot use entry "${entry}": it says more than a host, expected the name of a host alone`,
    );
  });

  it('opens TLS to nothing by default, and grants nothing', async () => {
    const { isIntercepted, secrets } = await settingsFrom('process.egress_hosts = ["a.example"]');
    expect([isIntercepted(hostOf('a.example')), secrets.size]).toEqual([false, 0]);
  });

  it.each([
    ['process.egress_intercept = ["*.com"]', 'process.egress_intercept: Cannot use entry "*.com"'],
    ['process.egress_intercept = ["a..b"]', 'process.egress_intercept: Cannot use host "a..b"'],
    ['process.egress_hosts = ["*"]', 'process.egress_hosts: Cannot use host "*"'],
    [
      '[[secret]]\nname = "a"\nvariable = "A"\nfile = "/a"\nhosts = ["a.example", "a.example:99999"]',
      'secret[0].hosts: Cannot use port "99999"',
    ],
  ])('refuses %j, which only a reader of hosts can judge', async (toml, message) => {
    await expect(settingsFrom(toml)).rejects.toThrow(message);
    await expect(settingsFrom(toml)).rejects.toMatchObject({ code: 'config/invalid' });
  });

  it('follows the links of roots and read-only paths when it is called, and keeps where they led', async () => {
    const { root, workspace, outside } = makeHost();
    const alias = join(root, 'alias');
    symlinkSync(workspace, alias);
    const stateDir = join(root, 'of-settings');
    mkdirSync(stateDir, { mode: 0o700 });
    const toml = `[process]\nworkspaces = ["${alias}"]\nread_only = ["${alias}/library"]\n`;
    writeFileSync(join(stateDir, 'palisade.toml'), toml, { mode: 0o600 });
    const named = { granted: [], readOnly: [join(alias, 'named')] };
    const place = { stateDir, home: null, ...named, cwd: null, upstreams: [] };
    const { settings } = openRunner(await loadConfig({ stateDir }), place, {
      nowMs: () => 0,
      monotonicMs: () => 0,
    });
    const given = settings();
    rmSync(alias);
    symlinkSync(outside, alias);
    expect(given).toMatchObject({
      workspaceRoots: [workspace],
      readOnly: [join(workspace, 'library'), join(workspace, 'named')],
    });
  });
});
