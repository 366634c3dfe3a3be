import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';

const MIB = 1024 * 1024;

/** Says who it is to the others, waits until all are there, and tells what it sees of them and of its own limits. */
const MEETING = `
import json, os, resource, signal, sys, time
number, count = int(sys.argv[1]), int(sys.argv[2])
open('/tmp/of-%d' % number, 'w').close()
open('here-%d' % number, 'w').close()
while sum(name.startswith('here-') for name in os.listdir('.')) < count: time.sleep(0.01)
try: os.kill(-1, signal.SIGKILL)
except ProcessLookupError: pass
print(json.dumps({
    'tmp': sorted(os.listdir('/tmp')),
    'pids': sorted(int(name) for name in os.listdir('/proc') if name.isdigit()),
    'data': resource.getrlimit(resource.RLIMIT_DATA)[0],
    'files': resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    'processes': resource.getrlimit(resource.RLIMIT_NPROC)[0],
    'fsize': resource.getrlimit(resource.RLIMIT_FSIZE)[0],
}))
open('seen-%d' % number, 'w').close()
while sum(name.startswith('seen-') for name in os.listdir('.')) < count: time.sleep(0.01)
`;

describe('runs at the same time in one workspace, each with limits of its own', () => {
  const jail = sharedGateway();

  test('see neither each other nor a limit that is not theirs', async () => {
    // As many as run at once on the smallest machine.
    const numbers = [1, 2];
    const limitsOf = (number: number) => ({
      ...{ memory_bytes: number * 64 * MIB, open_files: number * 64, processes: number * 16 },
      file_size_bytes: number * MIB,
    });
    const ends = await Promise.all(
      numbers.map((number) => {
        const args = ['-c', MEETING, String(number), String(numbers.length)];
        return jail.run({ command: '/usr/bin/python3', args, limits: limitsOf(number), tier: 'c' });
      }),
    );
    const seen = ends.map((end, index) => {
      expect(end, `${end.message} ${end.output?.stderr}`).toMatchObject({ code: 'ok' });
      const own = JSON.parse(end.output?.stdout ?? '') as Record<string, number>;
      const number = numbers[index] ?? 0;
      const limits = { files: number * 64, fsize: number * MIB };
      expect(own).toMatchObject({ ...limits, tmp: [`of-${number}`], pids: [1, 2] });
      const { data, processes } = own;
      expect(end.execution?.isolation).toMatchObject({
        'rlimit.data': `${data}`,
        'rlimit.nproc': `${processes}`,
      });
      return { data: data ?? 0, processes: processes ?? 0 };
    });
    expect(seen[1]?.data).toBe((seen[0]?.data ?? 0) * 2);
    expect((seen[1]?.processes ?? 0) - (seen[0]?.processes ?? 0)).toBe(16);
    expect(readdirSync(jail.workspace).sort()).toEqual(['here-1', 'here-2', 'seen-1', 'seen-2']);
  });

  test('do not end each other: one is cancelled, one runs out of time, one goes on', async () => {
    const abort = new AbortController();
    const sleeper = { command: 'sleep', args: ['600'], tier: 'c' };
    const cancelled = jail.run(sleeper, abort.signal);
    const timedOut = jail.run({ ...sleeper, limits: { wall_ms: 500 } });
    const going = jail.run({ command: 'sh', args: ['-c', 'sleep 1.5; echo on'], tier: 'c' });
    setTimeout(() => abort.abort(), 300);
    const codes = (await Promise.all([cancelled, timedOut, going])).map(({ code }) => code);
    expect(codes).toEqual(['tier/cancelled', 'tier/timed-out', 'ok']);
  });
});
