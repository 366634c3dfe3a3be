import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { openGateway } from '../../packages/gateway/src/open.ts';
import { makeDirectories, sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf } from '../fixtures/commands/probe.ts';

/* A caller asks for limits that are none. To a kernel 0, -1 or a number cut short means "no limit" somewhere. */

const NAMES = [
  ...['wall_ms', 'cpu_time_ms', 'memory_bytes', 'output_bytes', 'file_size_bytes', 'processes', 'open_files'],
];
const gateway = sharedGateway('[process]\ncpu_ms = 30000\n');
const probe = proberOf(gateway);
const SHOW_LIMITS = `
import json, resource as r
print(json.dumps({n: r.getrlimit(getattr(r, 'RLIMIT_' + n)) for n in ['CPU', 'DATA', 'FSIZE', 'NOFILE', 'NPROC', 'CORE', 'STACK']}))
`;

test.each([0, -1, 0.5, -0, 1e-9, '1', null, [1], true, {}])(
  'a limit of %j starts nothing, whichever it is',
  async (value) => {
    for (const name of NAMES) {
      const end = await gateway.run({ command: 'true', tier: 'b', limits: { [name]: value } });
      expect(end).toMatchObject({ code: 'registry/invalid-input', output: null });
    }
  },
);

test.each([2 ** 53, 2 ** 63, 2 ** 64, 1e300])(
  'a limit of %d, which no double counts up to, starts nothing',
  async (value) => {
    for (const name of NAMES) {
      const end = await gateway.run({ command: 'true', tier: 'b', limits: { [name]: value } });
      expect(end.code).toMatch(/^(runner\/invalid-limits|registry\/invalid-input)$/);
    }
  },
);

test('a limit that nobody knows starts nothing', async () => {
  for (const limits of [
    { cpu: 1 },
    { cpuMs: 1 },
    { __proto__: null, constructor: 1 },
    { wall_ms: 1000, unlimited: 1 },
  ]) {
    expect(await gateway.run({ command: 'true', tier: 'b', limits })).toMatchObject({
      code: 'registry/invalid-input',
    });
  }
});

test('the largest limit that can be asked for is the ceiling, and every kernel limit is a number', async () => {
  const limits = Object.fromEntries(NAMES.map((name) => [name, 2 ** 53 - 1]));
  const shown = printedBy(await probe(SHOW_LIMITS, { limits }));
  const GIB = 1024 ** 3;
  expect(shown).toMatchObject({ FSIZE: [8 * GIB, 8 * GIB], CORE: [0, 0] });
  for (const pair of Object.values(shown) as [number, number][]) {
    expect(pair[0]).toBe(pair[1]);
    // -1 is RLIM_INFINITY.
    expect(pair[0]).toBeGreaterThanOrEqual(0);
  }
});

test('no limit at all is the configured one', async () => {
  // The kernel's limit of a process stands a second behind that of the tree.
  expect(printedBy(await probe(SHOW_LIMITS))).toMatchObject({ CPU: [31, 31] });
  const limits = { cpu_time_ms: 1_000, open_files: 77 };
  expect(printedBy(await probe(SHOW_LIMITS, { limits }))).toMatchObject({ CPU: [2, 2], NOFILE: [77, 77] });
});

test('a configuration cannot take a limit away either', async () => {
  for (const line of [
    'processes = 0',
    'wall_ms = -1',
    'cpu_ms = 0',
    'memory_bytes = inf',
    'file_bytes = nan',
  ]) {
    const { stateDir, workspace } = makeDirectories(`[process]\n${line}\n`);
    onTestFinished(() => rmSync(dirname(stateDir), { recursive: true }));
    await expect(
      openGateway({ stateDir, env: readEnvironment({}), version: '0.0.0', workspaces: [workspace] }),
    ).rejects.toMatchObject({
      code: expect.stringMatching(/^config\//),
    });
  }
});
