import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { marked, ownerOf } from '../../../src/doors/cli/marks.ts';
import { launchdFile, type ServiceWish, systemdFiles } from '../../../src/doors/cli/service/units.ts';
import { makeScratch, palisade, useBuild } from './palisade.ts';

/* The files of the service, judged by the programs of systemd and of property lists, and how they come and go. */

useBuild();
const scratch = makeScratch();
const UNITS = 'usr/lib/systemd/system';
/** Of ten, where 10 is a service without any wall. Node has to compile, and tier C needs namespaces. */
const MOST_EXPOSED = 4;
const READ_LIST = 'import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], "rb"))))';

let count = 0;
function fresh(): string {
  count += 1;
  const folder = join(scratch, `root ${count}`);
  mkdirSync(folder);
  return folder;
}

async function json(words: readonly string[], status = 0) {
  const finished = await palisade([...words, '--json'], { env: { HOME: scratch } });
  expect(finished.status, `${words.join(' ')}: ${finished.out}${finished.err}`).toBe(status);
  return JSON.parse(finished.out);
}

const WISH: ServiceWish = {
  scope: 'user',
  program: ['/usr/bin/node', '/opt/palisade/palisade.js'],
  launcher: '/usr/bin/true',
  stateDir: '/var/lib/palisade',
  listen: '127.0.0.1:7433',
  workspaces: [],
};

function unitOf(wish: Partial<ServiceWish>): string {
  return (
    systemdFiles({ ...WISH, ...wish }, '/units').find(({ path }) => path.endsWith('.service'))?.text ?? ''
  );
}

describe('palisade service install', () => {
  test('writes units that systemd takes as they are, with few ways open', async () => {
    const root = fresh();
    await json(['service', 'install', '--system', '--root', root, '--workspace', '/srv']);
    const units = ['palisade.socket', 'palisade.service'].map((name) => join(root, UNITS, name));
    // Programs and pages of a package are below the root; this looks at the text alone.
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], { encoding: 'utf8' });
    expect(verified.stderr).not.toMatch(/palisade\.(service|socket):\d+/);
    expect(verified.status, verified.stderr).toBe(0);
    const security = ['security', '--offline=yes', '--no-pager', `--threshold=${MOST_EXPOSED * 10}`];
    const judged = spawnSync('systemd-analyze', [...security, units[1] ?? ''], { encoding: 'utf8' });
    expect(judged.status, judged.stdout.split('\n').slice(-4).join('\n')).toBe(0);
    expect(judged.stdout).toContain('Overall exposure level');
    const bare = join(root, 'bare.service');
    writeFileSync(bare, '[Service]\nExecStart=/usr/bin/true\n');
    expect(spawnSync('systemd-analyze', [...security, bare]).status).not.toBe(0);
  });

  test('makes a user of the system for it', async () => {
    const root = fresh();
    await json(['service', 'install', '--system', '--root', root]);
    const file = join(root, 'usr/lib/sysusers.d/palisade.conf');
    expect(readFileSync(file, 'utf8')).toContain('u palisade - "Palisade gateway" /var/lib/palisade');
    execFileSync('systemd-sysusers', ['--dry-run', file], { stdio: 'pipe' });
  });

  test('shows everything and changes nothing with --dry-run', async () => {
    const root = fresh();
    const shown = await json(['service', 'install', '--user', '--root', root, '--dry-run']);
    expect(shown).toMatchObject({ dryRun: true, started: false, scope: 'user' });
    expect(shown.files.map(({ path }: { path: string }) => path)).toHaveLength(2);
    expect(shown.commands.at(-1)).toBe('systemctl --user enable --now palisade.socket palisade.service');
    expect(readdirSync(root)).toEqual([]);
  });

  test('can be repeated, and replaces neither a file that was edited nor one of another', async () => {
    const root = fresh();
    const words = ['service', 'install', '--system', '--root', root];
    await json(words);
    await json([...words, '--listen', '127.0.0.1:7500']);
    const service = join(root, UNITS, 'palisade.service');
    const socket = join(root, UNITS, 'palisade.socket');
    expect(readFileSync(socket, 'utf8')).toContain('ListenStream=127.0.0.1:7500');
    writeFileSync(service, `${readFileSync(service, 'utf8')}Environment=MINE=1\n`);
    expect((await json(words, 64)).remedy).toContain('systemctl edit palisade');
    expect(readFileSync(service, 'utf8')).toContain('MINE=1');
    writeFileSync(service, '[Service]\nExecStart=/bin/true\n');
    expect((await json(words, 64)).message).toContain('palisade did not write it');
    expect((await json(['service', 'uninstall', '--system', '--root', root])).kept).toEqual([
      { path: service, state: 'other' },
    ]);
    expect(existsSync(service)).toBe(true);
    expect(existsSync(socket)).toBe(false);
  });

  test('follows no link to a file of another', async () => {
    const root = fresh();
    mkdirSync(join(root, UNITS), { recursive: true });
    const mine = join(root, 'mine');
    writeFileSync(mine, 'mine');
    symlinkSync(mine, join(root, UNITS, 'palisade.service'));
    await json(['service', 'install', '--system', '--root', root], 64);
    await json(['service', 'uninstall', '--system', '--root', root]);
    expect(readFileSync(mine, 'utf8')).toBe('mine');
  });

  test.each([
    [['--user', '--system'], 'expected one of them'],
    [['--user', '--listen', 'localhost:7433'], 'expected ADDRESS:PORT'],
    [['--user', '--listen', '127.0.0.1:0'], 'expected ADDRESS:PORT'],
    [['--manager', 'upstart'], 'expected systemd or launchd'],
    [['--manager', 'launchd', '--system'], 'expected --user'],
    [['--system', '--state', '/srv/state'], 'expected no --state'],
    [['--system', '--workspace', '/a:b'], 'expected a path without it'],
  ])('refuses %j, with a remedy', async (words, why) => {
    const root = fresh();
    const refused = await json(['service', 'install', '--root', root, ...words], 64);
    expect(refused.message).toContain(why);
    expect(readdirSync(root)).toEqual([]);
  });

  test('tells systemd that it is ready only where the launcher is there to do so', () => {
    expect(unitOf({})).toMatch(/^Type=notify$/m);
    const without = unitOf({ launcher: null });
    expect(without).toMatch(/^Type=exec$/m);
    expect(without).not.toMatch(/Watchdog|NotifyAccess|mode=service/);
  });

  test('passes every path on as it is', () => {
    const odd = '/srv/a b/100% "of" $HOME/back\\slash';
    const folder = fresh();
    const file = join(folder, 'odd.service');
    const program = ['/usr/bin/printf', '%%s'];
    const text = unitOf({ program, workspaces: [odd] });
    writeFileSync(file, text);
    const line = /^ExecStart=(.*)$/m.exec(text)?.[1] ?? '';
    expect(line).toContain('--workspace "/srv/a b/100%% \\"of\\" $$HOME/back\\\\slash"');
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    expect(verified.stderr).not.toMatch(/odd\.service:\d+/);
  });

  test.each(['/srv/a\nExecStartPre=/bin/sh', '/srv/\u0007'])('writes no control character: %j', (path) => {
    expect(() => unitOf({ workspaces: [path] })).toThrow('it has a control character');
    expect(() => launchdFile({ ...WISH, workspaces: [path] }, '/agents')).toThrow(
      'it has a control character',
    );
  });
});

describe('the agent of launchd', () => {
  test('is a property list that says what was wished for', () => {
    const odd = '/Users/ada/<a & b>';
    const { path, text } = launchdFile({ ...WISH, workspaces: [odd] }, fresh());
    writeFileSync(path, text);
    const list = execFileSync('python3', ['-c', READ_LIST, path], { encoding: 'utf8' });
    expect(JSON.parse(list)).toEqual({
      Label: 'dev.palisade.gateway',
      ProgramArguments: [
        ...WISH.program,
        ...['serve', '--quiet', '--state', WISH.stateDir, '--listen', WISH.listen, '--workspace', odd],
      ],
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      ExitTimeOut: 60,
      Umask: 0o077,
      ProcessType: 'Background',
      StandardErrorPath: '/var/lib/palisade/service.log',
    });
    expect(ownerOf(text)).toBe('ours');
  });

  test('comes and goes below --root', async () => {
    const root = fresh();
    const words = ['--manager', 'launchd', '--user', '--root', root];
    const { files, commands } = await json(['service', 'install', ...words]);
    expect(files[0].path).toBe(join(root, 'Library/LaunchAgents/dev.palisade.gateway.plist'));
    expect(commands[0]).toMatch(/^launchctl bootstrap gui\/\d+ /);
    expect((await json(['service', 'uninstall', ...words])).removed).toEqual([files[0].path]);
  });
});

describe('palisade service status and uninstall', () => {
  test('tell what is there, and twice removed is no error', async () => {
    const root = fresh();
    const place = ['--system', '--root', root];
    expect((await json(['service', 'status', ...place], 4)).state).toBe('absent');
    await json(['service', 'install', ...place]);
    const { state, files } = await json(['service', 'status', ...place], 3);
    expect(state).toBe('inactive');
    expect(files.every((file: { state: string }) => file.state === 'ours')).toBe(true);
    expect((await json(['service', 'uninstall', ...place, '--dry-run'])).removed).toHaveLength(3);
    expect((await json(['service', 'uninstall', ...place])).removed).toHaveLength(3);
    expect((await json(['service', 'uninstall', ...place])).removed).toEqual([]);
    expect((await json(['service', 'status', ...place], 4)).state).toBe('absent');
  });
});

test('ownerOf() knows its own file, an edited one and one of another', () => {
  for (const after of [0, 1]) {
    const text = marked('one\ntwo\n', { by: 'service install', open: '# ', after });
    expect(ownerOf(text)).toBe('ours');
    expect(ownerOf(text.replace('two', 'three'))).toBe('edited');
    expect(ownerOf(`${text}more\n`)).toBe('edited');
  }
  expect(ownerOf('one\ntwo\n')).toBe('other');
});
