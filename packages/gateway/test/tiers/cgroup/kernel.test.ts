import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, vi } from 'vitest';
import { sweepCgroups } from '../../../src/tiers/cgroup/cgroups.ts';
import { machineFiles } from '../../../src/tiers/cgroup/group-files.ts';
import { bundle } from '../../fixture/bundle.ts';
import { Child } from '../../fixture/child.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import {
  directoriesNamed,
  itWithGroups,
  makeGroup,
  membersOf,
  nameIn,
  nameOf,
  OWNER,
  openReal,
  startIn,
} from './real.ts';

const MIB = 1024 * 1024;
const AMPLE_LIMITS = { memoryMib: 256, processes: 64 };
const FILL_MEMORY = fileURLToPath(new URL('./programs/fill-memory.mjs', import.meta.url));

/** Leaves two daemons behind: forked twice, in a session of their own. */
const DAEMONS =
  '(setsid sh -c "sleep 60 & sleep 60" >/dev/null 2>&1 &) ; (setsid sleep 60 >/dev/null 2>&1 &)';
/** Starts thirty processes that stay, unless it cannot. */
const STORM = 'i=0; while [ $i -lt 30 ]; do sleep 60 >/dev/null 2>&1 & i=$((i + 1)); done; echo $i started';

describe('a group of this kernel', () => {
  itWithGroups(
    'takes a command that joins through its descriptors, and tells what limits it has',
    async (cgroups) => {
      const group = makeGroup(cgroups, AMPLE_LIMITS);
      const { ended } = startIn(group, '/bin/cat', ['/proc/self/cgroup']);
      const { code, output } = await ended;
      expect(code).toBe(0);
      expect(output.split(`/${nameOf(group)}\n`)).toHaveLength(group.descriptors.length + 1);
      expect(group.facts()).toMatchObject({ memory_max_bytes: 256 * MIB, processes_max: 64 });
    },
  );

  itWithGroups('holds a whole tree of processes to its memory', async (cgroups) => {
    const roomy = makeGroup(cgroups, { memoryMib: 1024, processes: 256 });
    const fits = await startIn(roomy, process.execPath, [FILL_MEMORY, '3', '80']).ended;
    expect(fits).toMatchObject({ code: 0, output: '3 filled\n' });
    expect(roomy.usage().oomKills).toBe(0);
    expect(roomy.usage().peakMemoryBytes).toBeGreaterThan(240 * MIB);

    const tight = makeGroup(cgroups, { memoryMib: 200, processes: 256 });
    const killed = await startIn(tight, process.execPath, [FILL_MEMORY, '3', '80']).ended;
    expect(killed.output).not.toBe('3 filled\n');
    const { oomKills, peakMemoryBytes } = tight.usage();
    expect(oomKills).toBeGreaterThan(0);
    expect(peakMemoryBytes).toBeGreaterThan(190 * MIB);
    expect(peakMemoryBytes).toBeLessThanOrEqual(200 * MIB);
  });

  itWithGroups('holds a storm of forks to its number of processes', async (cgroups) => {
    const roomy = makeGroup(cgroups, AMPLE_LIMITS);
    expect((await startIn(roomy, '/bin/sh', ['-c', STORM]).ended).output).toBe('30 started\n');
    expect(membersOf(nameOf(roomy))).toHaveLength(30);
    expect(roomy.usage().pidsRefused).toBe(0);

    const tight = makeGroup(cgroups, { memoryMib: 256, processes: 12 });
    expect((await startIn(tight, '/bin/sh', ['-c', STORM]).ended).output).not.toContain('30 started');
    expect(membersOf(nameOf(tight)).length).toBeLessThanOrEqual(12);
    expect(tight.usage().pidsRefused).toBeGreaterThan(0);
  });

  itWithGroups('counts CPU time that is finer than a millisecond', async (cgroups) => {
    const idle = makeGroup(cgroups, AMPLE_LIMITS);
    const busy = makeGroup(cgroups, AMPLE_LIMITS);
    expect(idle.usage().cpuUs).toBe(0);
    const spin =
      'for (const end = performance.now() + 50; performance.now() < end; );' +
      'const { user, system } = process.cpuUsage(); console.log(user + system)';
    const { output } = await startIn(busy, process.execPath, ['-e', spin]).ended;
    // What the process itself has counted is in it; the joining shell and the end of the process come on top.
    expect(busy.usage().cpuUs).toBeGreaterThan(Number(output) * 0.9);
    expect(idle.usage().cpuUs).toBe(0);
    await startIn(idle, '/bin/true', []).ended;
    expect(idle.usage().cpuUs).toBeGreaterThan(0);
  });

  itWithGroups('kills daemons that left the session and the parent of their command', async (cgroups) => {
    const group = makeGroup(cgroups, AMPLE_LIMITS);
    const name = nameOf(group);
    expect((await startIn(group, '/bin/sh', ['-c', DAEMONS]).ended).code).toBe(0);
    await vi.waitFor(() => expect(membersOf(name)).toHaveLength(4), { timeout: 10_000 });
    expect(await group.kill()).toBe(true);
    expect(membersOf(name)).toEqual([]);
  });

  itWithGroups('kills a storm of forks also where the kernel has no kill for groups', async () => {
    const old = {
      ...machineFiles,
      write: (path: string, text: string) =>
        machineFiles.write(path.replace('cgroup.kill', 'no.such.file'), text),
    };
    const group = makeGroup(openReal({ process: 'p_old', files: old }), { memoryMib: 256, processes: 200 });
    const name = nameOf(group);
    const storm = 'i=0; while [ $i -lt 20000 ]; do sleep 0.1 & i=$((i + 1)); done';
    startIn(group, '/bin/sh', ['-c', storm]);
    await vi.waitFor(() => expect(membersOf(name).length).toBeGreaterThan(10), { timeout: 10_000 });
    expect(await group.kill()).toBe(true);
    expect(membersOf(name)).toEqual([]);
    await sleep(100);
    expect(membersOf(name)).toEqual([]);
  });

  itWithGroups('leaves nothing when it is removed, and takes what still runs with it', async (cgroups) => {
    const group = makeGroup(cgroups, AMPLE_LIMITS);
    const name = nameOf(group);
    const { child, ended } = startIn(group, '/bin/sleep', ['60']);
    await vi.waitFor(() => expect(membersOf(name)).toEqual([child.pid]), { timeout: 10_000 });
    expect(directoriesNamed(name)).not.toEqual([]);
    await group.remove();
    await ended;
    expect(child.signalCode).toBe('SIGKILL');
    expect(directoriesNamed(name)).toEqual([]);
    expect(cgroups.list()).toEqual([]);
  });
});

describe('sweepCgroups() on this kernel', () => {
  itWithGroups('ends what a killed gateway left, and leaves the runs of others alone', async (cgroups) => {
    const program = await bundle(new URL('./programs/leave-group.ts', import.meta.url), tempDir());
    const gateway = new Child(program, [OWNER, 'p_killed']);
    const name = nameIn(JSON.parse(await gateway.line()));
    const stranger = openReal({ process: 'p_killed', realStateDir: `${OWNER} elsewhere` });
    const others = [makeGroup(cgroups, AMPLE_LIMITS), makeGroup(stranger, AMPLE_LIMITS)];
    const running = others.map((group) => startIn(group, '/bin/sleep', ['60']).child.pid);
    const othersRun = () => expect(others.flatMap((group) => membersOf(nameOf(group)))).toEqual(running);
    await vi.waitFor(othersRun, { timeout: 10_000 });
    await gateway.kill();
    expect(membersOf(name)).toHaveLength(1);

    const swept = await sweepCgroups(cgroups, (owner) => owner === 'p_killed');
    expect(swept).toEqual({ removed: [name], left: [] });
    expect(membersOf(name)).toEqual([]);
    expect(directoriesNamed(name)).toEqual([]);
    othersRun();
  });
});
