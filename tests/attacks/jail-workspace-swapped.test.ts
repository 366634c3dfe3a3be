import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makePlace, openCommandGateway } from '../fixtures/commands/index.ts';

/** Exchanges two names for ever, in one step each, until its input ends. */
const EXCHANGER = `
import ctypes, os, select, sys
exchange = ctypes.CDLL(None, use_errno=True).renameat2
print('ready', flush=True)
while not select.select([0], [], [], 0)[0]:
    exchange(-100, os.fsencode(sys.argv[1]), -100, os.fsencode(sys.argv[2]), 2)
`;
const ROUNDS = 12;

async function swappedGateway() {
  const gateway = await openCommandGateway();
  const base = dirname(gateway.workspace);
  const secret = join(base, 'secret');
  mkdirSync(secret, { mode: 0o777 });
  writeFileSync(join(secret, 'canary'), 'a secret', { mode: 0o666 });
  writeFileSync(join(gateway.workspace, 'mine'), 'mine');
  return { ...gateway, base, secret };
}

describe('a workspace that becomes a link to a secret directory', () => {
  test('is refused, or is the directory that was judged, however often it changes meanwhile', async () => {
    const { workspace, base, secret, run } = await swappedGateway();
    const link = join(base, 'link');
    symlinkSync(secret, link);
    const exchanger = spawn('/usr/bin/python3', ['-c', EXCHANGER, workspace, link], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(exchanger.stdout, 'data');
    const ends = [];
    const listed = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const command = {
        command: 'sh',
        args: ['-c', 'ls; cat canary; echo harmed > canary; echo made > made'],
        tier: 'c',
      };
      ends.push(await run({ ...command, workspace }));
      // The control: who goes by the path sees the one and the other.
      for (let look = 0; look < 200; look++)
        listed.add(readdirSync(workspace).includes('canary') ? 'secret' : 'own');
    }
    exchanger.stdin.end();
    await once(exchanger, 'exit');
    for (const { output, code, message } of ends) {
      expect(output?.stdout ?? '', `${code} ${message}`).not.toContain('secret');
      expect(output?.changes ?? []).not.toContainEqual(
        expect.objectContaining({ path: 'canary', change: 'changed' }),
      );
    }
    expect(readdirSync(secret)).toEqual(['canary']);
    expect(readFileSync(join(secret, 'canary'), 'utf8')).toBe('a secret');
    expect([...listed].sort()).toEqual(['own', 'secret']);
  });

  test('is refused when it is one from the beginning and leads out of the roots', async () => {
    const { workspace, base, secret, run } = await swappedGateway();
    symlinkSync(secret, join(workspace, 'link'));
    const end = await run({ command: 'true', workspace: join(workspace, 'link'), tier: 'c' });
    expect(end).toMatchObject({ code: 'runner/invalid-workspace', output: null });
    renameSync(workspace, join(base, 'elsewhere'));
    symlinkSync(secret, workspace);
    expect(await run({ command: 'cat', args: ['canary'], tier: 'c' })).toMatchObject({ output: null });
  });

  test.each(['the state directory', 'a directory around it', 'a link to it'])(
    'is refused as %s',
    async (what) => {
      const place = makePlace('');
      const { run, stateDir, workspace } = await openCommandGateway(`[process]\nworkspaces = ["/var/tmp"]\n`);
      const link = join(workspace, 'to-state');
      symlinkSync(stateDir, link);
      const asked = {
        'the state directory': stateDir,
        'a directory around it': dirname(stateDir),
        'a link to it': link,
      }[what];
      const end = await run({
        command: 'sh',
        args: ['-c', 'echo x > palisade.toml'],
        workspace: asked,
        tier: 'c',
      });
      expect(end).toMatchObject({ code: 'runner/invalid-workspace', output: null });
      // The control: another directory below the same root is a workspace.
      const other = await run({
        command: 'sh',
        args: ['-c', 'echo x > made'],
        workspace: place.workspace,
        tier: 'c',
      });
      expect(other, other.message).toMatchObject({ code: 'ok' });
      expect(existsSync(join(place.workspace, 'made'))).toBe(true);
    },
  );
});
