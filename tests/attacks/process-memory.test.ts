import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf, RUN_UID, runBare } from '../fixtures/commands/probe.ts';

/*
 * A command takes memory in every way there is. A control group counts all of it, for the whole tree. Where the machine
 * gives none, each process is held by RLIMIT_DATA, which counts neither shared maps nor files in memory, and each anew;
 * the receipt says which of the two it was.
 */

const MIB = 1024 * 1024;
const gateway = sharedGateway();
const probe = proberOf(gateway);
const SHM = `palisade-shm-${process.pid}`;

afterAll(() => {
  for (const name of readdirSync('/dev/shm').filter((each) => each.startsWith(SHM)))
    rmSync(join('/dev/shm', name));
});

/** Takes memory a megabyte at a time up to this many, and says how many it got. */
function taking(mebibytes: number, take: string): string {
  return `
import json, mmap, os
MIB, kept, got = 1 << 20, [], 0
def take():
    ${take}
for i in range(${mebibytes}):
    try: take(); got += 1
    except (MemoryError, OSError): break
print(json.dumps({'got': got}))
`;
}
const HEAP = 'kept.append(bytearray(MIB))';
const PRIVATE =
  'm = mmap.mmap(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m.write(b"x" * MIB); kept.append(m)';
const SHARED = 'm = mmap.mmap(-1, MIB, flags=mmap.MAP_SHARED); m.write(b"x" * MIB); kept.append(m)';
const IN_DEV_SHM = `f = open('/dev/shm/${SHM}', 'ab'); f.write(b"x" * MIB); f.close()`;
const MEMFD = 'f = os.memfd_create("m"); os.write(f, b"x" * MIB); kept.append(f)';
const PIPES =
  'r, w = os.pipe(); __import__("fcntl").fcntl(w, 1031, MIB); os.write(w, b"x" * MIB); kept.append((r, w))';

function hasGroup({ execution }: CommandEnd): boolean {
  return execution?.isolation.cgroup_kind !== 'none';
}

describe('one process', () => {
  test.each([
    ['the heap', HEAP],
    ['private maps', PRIVATE],
  ])('gets no more of %s than its limit: its group ends it, or else the kernel refuses', async (_, take) => {
    const end = await probe(taking(400, take), { limits: { memory_bytes: 100 * MIB } });
    const held = { code: 'tier/out-of-memory', output: { limit: 'memory', stdout: '' } };
    const refused = { code: 'ok', output: { stdout: expect.stringMatching(/^\{"got": [4-9][0-9]\}\n$/) } };
    expect(end).toMatchObject(hasGroup(end) ? held : refused);
    expect(end.output?.usage.peakMemoryBytes ?? 0).toBeLessThanOrEqual(100 * MIB);
    expect(JSON.parse(runBare(taking(400, take)))).toEqual({ got: 400 });
  });

  test.each([
    ['shared maps', SHARED],
    ['files in /dev/shm', IN_DEV_SHM],
    ['files that have no name', MEMFD],
  ])('that takes %s is ended by its group', async (_, take) => {
    const end = await probe(taking(200, take), { limits: { memory_bytes: 100 * MIB, open_files: 1024 } });
    // Where the machine gives no group the receipt has none, and nobody was promised more than RLIMIT_DATA.
    const held = {
      code: 'tier/out-of-memory',
      output: { limit: 'memory', stdout: '' },
      execution: { isolation: { memory_max_bytes: 100 * MIB } },
    };
    expect(end).toMatchObject(hasGroup(end) ? held : { code: 'ok', output: { stdout: '{"got": 200}\n' } });
    expect(end.output?.usage.peakMemoryBytes ?? 0).toBeLessThanOrEqual(100 * MIB);
    expect(printedBy(await probe(taking(40, take), { limits: { memory_bytes: 200 * MIB } }))).toEqual({
      got: 40,
    });
  });

  test('that fills pipes gets what the kernel gives a user, and not more than its group', async () => {
    const end = await probe(taking(400, PIPES), { limits: { memory_bytes: 100 * MIB } });
    expect(['ok', 'tier/out-of-memory']).toContain(end.code);
    expect(end.output?.usage.peakMemoryBytes ?? 0).toBeLessThanOrEqual(100 * MIB);
  });
});

describe('a tree', () => {
  const TREE = `
import os
r, w = os.pipe()
pids = []
for i in range(5):
    pid = os.fork()
    if pid == 0:
        kept = bytearray(b'x') * (60 << 20)
        os.close(w); os.read(r, 1); os._exit(0)
    pids.append(pid)
os.close(w)
codes = [os.waitpid(p, 0)[1] for p in pids]
raise SystemExit(1 if any(codes) else 0)
`;

  test('of processes that are small each is held as one by its group', async () => {
    const end = await probe(TREE, { limits: { memory_bytes: 128 * MIB } });
    expect(end.output?.usage.peakMemoryBytes ?? 0).toBeLessThanOrEqual(128 * MIB);
    expect(end).toMatchObject(
      hasGroup(end) ? { code: 'tier/out-of-memory', output: { limit: 'memory' } } : { code: 'ok' },
    );
    expect(await probe(TREE, { limits: { memory_bytes: 900 * MIB } })).toMatchObject({ code: 'ok' });
  });
});

test('the gateway and the memory of the next run are none the worse', async () => {
  const end = await probe(taking(50, HEAP), { limits: { memory_bytes: 100 * MIB } });
  expect(printedBy(end)).toEqual({ got: 50 });
  // A file in the memory of the machine outlives the run in this tier, and belongs to the run's user.
  const [left] = readdirSync('/dev/shm').filter((each) => each.startsWith(SHM));
  expect(statSync(join('/dev/shm', left ?? '')).uid).toBe(RUN_UID);
});
