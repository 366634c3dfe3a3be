import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { openGateway } from '../../packages/gateway/src/open.ts';
import { makeDirectories, runnerOf } from '../fixtures/commands/index.ts';

/*
 * Somebody swaps what was judged before it is used: a directory for a link, a program for another. The swap happens at
 * the last moment that the line has, when the call is granted and recorded and the tier is about to start it. Tier B
 * then still has the time between its last look and the exec; what lies outside is not mounted in tier C.
 */

const directories = makeDirectories('');
const outside = fs.mkdtempSync('/var/tmp/palisade-outside-');
const SECRET = 'canary-of-the-outside';
let gateway: Awaited<ReturnType<typeof openGateway>>;
let swap: () => void = () => undefined;

beforeAll(async () => {
  // The user of a run has to be able to walk to both.
  fs.chmodSync(outside, 0o755);
  fs.chmodSync(dirname(directories.workspace), 0o711);
  fs.chmodSync(directories.workspace, 0o711);
  fs.writeFileSync(join(outside, 'file'), SECRET, { mode: 0o644 });
  const { stateDir, workspace } = directories;
  gateway = await openGateway({
    stateDir,
    env: readEnvironment({}),
    version: '0.0.0',
    workspaces: [workspace],
  });
});
afterAll(async () => {
  await gateway.close();
  for (const directory of [outside, join(directories.stateDir, '..')])
    fs.rmSync(directory, { recursive: true });
});

const run = runnerOf(async () => {
  const tierOf = (name: 'b' | 'c') => {
    const tier = gateway.executors[name];
    if (tier === undefined) throw new Error(`Cannot swap: there is no tier ${name}`);
    const swapped: typeof tier.run = (...args) => {
      swap();
      return tier.run(...args);
    };
    return { ...tier, run: swapped };
  };
  return { ...gateway, executors: { ...gateway.executors, b: tierOf('b'), c: tierOf('c') } };
});

/** A workspace of its own with `sub/file` and `tool`, which is cat. */
function makeProject(name: string): string {
  const project = join(directories.workspace, name);
  fs.mkdirSync(join(project, 'sub'), { recursive: true });
  fs.writeFileSync(join(project, 'sub/file'), 'inside');
  fs.copyFileSync(fs.realpathSync('/bin/cat'), join(project, 'tool'));
  fs.chmodSync(join(project, 'tool'), 0o755);
  return project;
}

type Swap = readonly [what: string, input: object, swap: (project: string) => void, read: string];
const SWAPS: readonly Swap[] = [
  [
    'the working directory for a link',
    { command: 'cat', args: ['file'], cwd: 'sub' },
    (project) => {
      fs.renameSync(join(project, 'sub'), join(project, 'moved'));
      fs.symlinkSync(outside, join(project, 'sub'));
    },
    'sub/file',
  ],
  [
    'the workspace for a link',
    { command: 'cat', args: ['file'] },
    (project) => {
      fs.renameSync(project, `${project}-moved`);
      fs.symlinkSync(outside, project);
    },
    'file',
  ],
  [
    'the workspace for another directory',
    { command: 'cat', args: ['file'] },
    (project) => {
      fs.renameSync(project, `${project}-moved`);
      fs.cpSync(outside, project, { recursive: true });
    },
    'file',
  ],
  [
    'a file for a link',
    { command: 'cat', args: ['sub/file'] },
    (project) => {
      fs.rmSync(join(project, 'sub/file'));
      fs.symlinkSync(join(outside, 'file'), join(project, 'sub/file'));
    },
    'sub/file',
  ],
  [
    'a directory on the way for a link',
    { command: 'cat', args: ['sub/file'] },
    (project) => {
      fs.renameSync(join(project, 'sub'), join(project, 'moved'));
      fs.symlinkSync(outside, join(project, 'sub'));
    },
    'sub/file',
  ],
];

/** Where only an argument leads elsewhere: tier C starts such a command, and the kernel keeps it out. */
const LEFT_TO_THE_KERNEL = /^a (?:file|directory on the way) for a link$/;

test.each(
  SWAPS.flatMap((row) => [
    ['b', ...row] as const,
    ...(LEFT_TO_THE_KERNEL.test(row[0]) ? [] : [['c', ...row] as const]),
  ]),
)('tier %s starts nothing after a swap of %s', async (tier, what, input, act, read) => {
  const project = makeProject(`${tier}-${SWAPS.findIndex(([name]) => name === what)}`);
  swap = () => act(project);
  const end = await run({ ...input, workspace: project, tier });
  expect(end).toMatchObject({ code: 'tier/not-started', output: null });
  expect(end.execution).toMatchObject({ tier, isolation: { boundary: 'never started' } });
  // The control: a reader that goes by the path now reads what lies outside.
  expect(spawnSync('cat', [join(project, read)], { encoding: 'utf8' }).stdout).toBe(SECRET);
});

test.each(SWAPS.filter(([what]) => LEFT_TO_THE_KERNEL.test(what)))(
  'tier C shows nothing of the outside after a swap of %s',
  async (what, input, act, read) => {
    const project = makeProject(`kernel-${SWAPS.findIndex(([name]) => name === what)}`);
    swap = () => undefined;
    expect(await run({ ...input, workspace: project, tier: 'c' })).toMatchObject({
      output: { stdout: 'inside' },
    });
    swap = () => act(project);
    const end = await run({ ...input, workspace: project, tier: 'c' });
    expect(end).toMatchObject({ code: 'tier/exited', execution: { tier: 'c' } });
    expect(JSON.stringify(end)).not.toContain(SECRET);
    // The control: a reader that goes by the path now reads what lies outside.
    expect(spawnSync('cat', [join(project, read)], { encoding: 'utf8' }).stdout).toBe(SECRET);
  },
);

test('tier C starts nothing after a swap of what a policy has judged', async () => {
  const project = makeProject('judged');
  const file = join(project, 'sub/file');
  const policies = join(directories.stateDir, 'policies');
  const judging = `@id("by-paths") forbid (principal, action == Action::"call", resource) when { context.paths.contains("/etc/x") };\n`;
  swap = () => {
    fs.rmSync(file);
    fs.symlinkSync(join(outside, 'file'), file);
  };
  fs.writeFileSync(join(policies, '95-by-paths.cedar'), judging, { mode: 0o600 });
  while (!gateway.policy.readsFor('palisade.process.run').has('paths')) {
    await setTimeout(20);
    gateway.policy.refresh();
  }
  const end = await run({ command: 'cat', args: ['sub/file'], workspace: project, tier: 'c' });
  expect(end).toMatchObject({ code: 'tier/not-started', output: null });
  expect(end.message).toContain('the argument "sub/file" leads to');
  fs.rmSync(join(policies, '95-by-paths.cedar'));
});

test.each(['b', 'c'])('tier %s starts no program that is another one by now', async (tier) => {
  const project = makeProject(`program-${tier}`);
  const tool = join(project, 'tool');
  const input = { command: './tool', args: ['sub/file'], workspace: project, tier };
  const acts = [
    () => fs.appendFileSync(tool, 'x'),
    () => fs.chmodSync(tool, 0o4755),
    () => {
      fs.rmSync(tool);
      fs.symlinkSync('/bin/echo', tool);
    },
  ];
  for (const act of acts) {
    swap = act;
    expect(await run(input)).toMatchObject({ code: 'tier/not-started', output: null });
  }
});

test.each(['b', 'c'])('tier %s runs what nobody has touched, whatever is written beside it', async (tier) => {
  const project = makeProject(`untouched-${tier}`);
  swap = () => {
    fs.writeFileSync(join(project, 'sub/beside'), '');
    fs.writeFileSync(join(project, 'sub/file'), 'inside, and new');
  };
  const end = await run({ command: './tool', args: ['sub/file'], workspace: project, tier });
  expect(end).toMatchObject({ code: 'ok', output: { stdout: 'inside, and new' } });
});
