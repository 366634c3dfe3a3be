import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { processTier } from '../../../src/tiers/b-process/index.ts';
import { probeB } from '../../../src/tiers/b-process/probe.ts';
import { probeC, REQUIRED_OPTIONS } from '../../../src/tiers/c-bubblewrap/probe.ts';
import { doubtConnections, tryLandlock } from '../../../src/tiers/process/attempt.ts';
import { PROCESS_TIERS } from '../../../src/tiers/process/tiers.table.ts';
import {
  fakeBwrap,
  fakeLauncher,
  IS_ROOT,
  LAUNCHER,
  launcherWithoutNamespaces,
  machine,
  openDirectory,
  script,
  setVariable,
} from './machine-sample.ts';

async function boundaryOf(options: ReturnType<typeof machine>) {
  const found = await processTier.probe(options);
  return found.ok ? found.value.tier.about.boundary : found.problem.why;
}

describe('probeB() and probeC()', () => {
  test('find the launcher and bubblewrap of this machine, with their digests', async () => {
    const [b, c] = await Promise.all([probeB(machine()), probeC(machine())]);
    expect(b).toMatchObject({ ok: true, value: { launcher: LAUNCHER, namespaces: { ok: true } } });
    expect(c).toMatchObject({ ok: true, value: { launcher: LAUNCHER, bwrap: '/usr/bin/bwrap' } });
    if (c.ok) expect(c.value.bwrapSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await boundaryOf(machine())).toBe('process in a pid namespace');
  });

  test('refuse without a launcher, with the words that build it', async () => {
    for (const { probe } of Object.values(PROCESS_TIERS)) {
      expect(await probe(machine({ launchers: [] }))).toEqual({
        ok: false,
        problem: { why: 'the launcher is not built', fix: expect.stringContaining('npm run setup') },
      });
    }
  });

  test.each(['darwin', 'win32'] as const)('refuse on %s, with the remedy', async (platform) => {
    for (const { probe } of Object.values(PROCESS_TIERS)) {
      expect(await probe(machine({ platform }))).toEqual({
        ok: false,
        problem: {
          why: 'commands need Linux',
          fix: 'Run palisade on Linux, or in a virtual machine with Linux.',
        },
      });
    }
  });
});

describe('probeC()', () => {
  test('refuses without bubblewrap, with the words that install it', async () => {
    expect(await probeC(machine({ bwraps: ['/nowhere/bwrap'] }))).toEqual({
      ok: false,
      problem: {
        why: 'bubblewrap is not installed',
        fix: expect.stringContaining('apt-get install bubblewrap'),
      },
    });
  });

  test.each([
    ['that its group can write', 0o775, 'can be changed by others'],
    ['that all can write', 0o757, 'can be changed by others'],
    ['that nobody can execute', 0o644, 'is not a program'],
  ])('refuses a bubblewrap %s', async (_, mode, why) => {
    const planted = script(['exec /usr/bin/bwrap "$@"'], mode);
    expect(await probeC(machine({ bwraps: [planted] }))).toMatchObject({
      ok: false,
      problem: { why: `"${planted}" ${why}` },
    });
    // The control: the same file, as its owner's alone.
    const sound = script(['exec /usr/bin/bwrap "$@"']);
    expect(await probeC(machine({ bwraps: [sound] }))).toMatchObject({ ok: true, value: { bwrap: sound } });
  });

  test('asks no search path: a bubblewrap that was planted there is not seen', async () => {
    const planted = fakeBwrap('bubblewrap 99.0.0');
    const directory = dirname(planted);
    renameSync(planted, join(directory, 'bwrap'));
    setVariable('PATH', `${directory}:${process.env.PATH}`);
    expect(execFileSync('bwrap', ['--version']).toString()).toContain('99.0.0');
    expect(await probeC(machine())).toMatchObject({ ok: true, value: { bwrap: '/usr/bin/bwrap' } });
  });

  test.each([['something else 1.0'], ['bubblewrap'], ['bubblewrap 0.8.0\nbubblewrap 99.0.0']])(
    'refuses a program that says "%s" for its version',
    async (said) => {
      const bwrap = fakeBwrap(said);
      expect(await probeC(machine({ bwraps: [bwrap] }))).toMatchObject({
        ok: false,
        problem: { why: `"${bwrap}" does not print its version` },
      });
    },
  );
});

describe('probeB()', () => {
  test('falls back to Landlock where user namespaces are off, and says where they failed', async () => {
    const launcher = launcherWithoutNamespaces();
    const options = machine({ launchers: [launcher], runAs: null });
    const b = await probeB(options);
    expect(b).toMatchObject({
      ok: true,
      value: { namespaces: { ok: false, problem: { step: 'namespaces', errno: 'ENOSPC' } } },
    });
    expect(await boundaryOf(options)).toBe('process');
    const landlock = await tryLandlock(launcher, options);
    expect(landlock).toMatchObject({
      ok: true,
      value: { landlock: expect.stringMatching(/^[1-9]/) },
    });
  });

  test('takes a launcher that ends without a word for one that gives nothing', async () => {
    const options = machine({ launchers: [fakeLauncher([], 0)] });
    const b = await probeB(options);
    expect(b).toMatchObject({ ok: true, value: { namespaces: { ok: false } } });
    expect(await boundaryOf(options)).toBe('process');
  });
});

/** What one gateway keeps for the next. */
function memory() {
  const kept = new Map<string, Buffer>();
  const said = {
    read: async (name: string) => kept.get(name) ?? null,
    write: async (name: string, bytes: Uint8Array) => void kept.set(name, Buffer.from(bytes)),
    remove: async (name: string) => void kept.delete(name),
  };
  return { kept, said };
}

describe('what bubblewrap says of itself', () => {
  test('is asked once of a file, and of another file anew', async () => {
    const { kept, said } = memory();
    const first = await probeC(machine({ said }));
    expect([...kept.keys()].map((name) => name.replace(/^[0-9a-f]{64}-/, '')).sort()).toEqual([
      'connected',
      'help',
      'version',
    ]);
    for (const name of kept.keys())
      if (name.endsWith('-version')) kept.set(name, Buffer.from('bubblewrap 9.8.7\n'));
    const again = await probeC(machine({ said }));
    expect(first.ok && first.value.bwrapVersion).not.toEqual([9, 8, 7]);
    expect(again.ok && again.value.bwrapVersion).toEqual([9, 8, 7]);
  });

  test('is asked each time where it is a script, which can start another', async () => {
    const { kept, said } = memory();
    const found = await probeC(machine({ said, bwraps: [fakeBwrap('bubblewrap 0.12.0', REQUIRED_OPTIONS)] }));
    expect(found.ok && found.value.bwrapVersion).toEqual([0, 12, 0]);
    expect([...kept.keys()]).toEqual(['connected']);
  });
});

describe('whether the launcher can make connections', () => {
  /** The real launcher, which is counted, and which can be broken. */
  function counted() {
    const starts = join(openDirectory(), 'starts');
    const broken = `${starts}.broken`;
    writeFileSync(starts, '');
    chmodSync(starts, 0o666);
    const launcher = script([`echo >>${starts}`, `[ -e ${broken} ] && exit 1`, `exec ${LAUNCHER} "$@"`]);
    return { launcher, count: () => readFileSync(starts).length, break: () => writeFileSync(broken, '') };
  }
  const canConnect = async (options: Parameters<typeof probeC>[0]) => {
    const found = await probeC(options);
    return found.ok && found.value.canConnect;
  };

  test('is tried once on a machine, by all gateways of a state directory', async () => {
    const { said } = memory();
    const { launcher, count } = counted();
    for (let gateway = 0; gateway < 3; gateway += 1)
      expect(await canConnect(machine({ said, launchers: [launcher] }))).toBe(true);
    expect(count()).toBe(1);
  });

  test('is tried again for another launcher, for other commands, and after another boot', async () => {
    const { kept, said } = memory();
    const { launcher, count } = counted();
    await canConnect(machine({ said }));
    expect(await canConnect(machine({ said, launchers: [launcher] }))).toBe(true);
    expect(count()).toBe(1);
    if (IS_ROOT)
      await canConnect(machine({ said, launchers: [launcher], runAs: { uid: 61_001, gid: 61_001 } }));
    expect(count()).toBe(IS_ROOT ? 2 : 1);
    // The digest of what it was on another day.
    kept.set('connected', Buffer.from('0'.repeat(64)));
    await canConnect(machine({ said, launchers: [launcher] }));
    expect(count()).toBe(IS_ROOT ? 3 : 2);
  });

  test('is never taken from a gateway where it could not', async () => {
    const { kept, said } = memory();
    const { launcher, count, break: breakIt } = counted();
    breakIt();
    expect(await canConnect(machine({ said, launchers: [launcher] }))).toBe(false);
    expect(await canConnect(machine({ said, launchers: [launcher] }))).toBe(false);
    expect(count()).toBe(2);
    expect(kept.has('connected')).toBe(false);
  });

  test('is tried again once a run could not be set up', async () => {
    const { said } = memory();
    const { launcher, count, break: breakIt } = counted();
    await canConnect(machine({ said, launchers: [launcher] }));
    breakIt();
    expect(await canConnect(machine({ said, launchers: [launcher] }))).toBe(true);
    await doubtConnections({ said });
    expect(await canConnect(machine({ said, launchers: [launcher] }))).toBe(false);
    expect(count()).toBe(2);
  });
});
