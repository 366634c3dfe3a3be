import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type CommandEnd, openCommandGateway } from '../fixtures/commands/index.ts';
import { leftovers, NO_TRACES, processesOf, traces } from '../fixtures/commands/leftovers.ts';

const startedAs = (end: CommandEnd) => end.execution?.isolation.started;

/** How many sandboxes of the gateway stand ready: the launcher in each waits for its words, and has started nothing. */
function readyOf(stateDir: string): number {
  const launchers = processesOf(stateDir).filter((line) =>
    /^\d+ \/\.palisade\/launcher words=\d+$/.test(line),
  );
  return launchers.filter((line) => !hasChildren(line.split(' ', 1)[0] ?? '')).length;
}

function hasChildren(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8') !== '';
  } catch {
    // It has ended.
    return true;
  }
}

async function untilReady(stateDir: string, count: number): Promise<void> {
  await expect.poll(() => readyOf(stateDir), { timeout: 100_000, interval: 50 }).toBe(count);
}

test('a gateway that lasts has sandboxes stand ready, each for one command and as strict as a new one', async () => {
  const { run, workspace, stateDir } = await openCommandGateway('[process]\nwarm = 2\nenv = ["X"]\n', {
    isLasting: true,
  });
  expect(readyOf(stateDir)).toBe(0);
  const input = { command: 'sh', args: ['-c', 'ls -A /tmp; echo $X; pwd; touch /tmp/mark'], env: { X: 'x' } };
  const cold = await run(input);
  expect(cold).toMatchObject({ code: 'ok', output: { stdout: `x\n${workspace}\n` } });
  expect(startedAs(cold)).toBe('cold');

  await untilReady(stateDir, 2);
  const warm = await run(input);
  expect(startedAs(warm)).toBe('warm');
  // Nothing of the command before is in its places in memory.
  expect(warm).toMatchObject({ code: 'ok', output: { stdout: `x\n${workspace}\n` } });
  const walls = (end: CommandEnd) =>
    Object.fromEntries(
      Object.entries(end.execution?.isolation ?? {}).filter(
        ([name]) => !/^(?:ns\.|started|cgroup|mounts$)/.test(name),
      ),
    );
  expect(walls(warm)).toEqual(walls(cold));

  // Other words, variables, directories and limits of time are the command's; it has the box all the same.
  mkdirSync(join(workspace, 'below'));
  await untilReady(stateDir, 2);
  const other = await run({ command: 'env', cwd: 'below', env: { X: 'y' }, limits: { wall_ms: 9_000 } });
  expect(startedAs(other)).toBe('warm');
  expect(other.output?.stdout.split('\n')).toContain('X=y');

  await untilReady(stateDir, 2);
  const many = await Promise.all(Array.from({ length: 6 }, () => run({ command: 'true' })));
  expect(many.map(({ code }) => code)).toEqual(Array.from({ length: 6 }, () => 'ok'));
  expect(many.map(startedAs).sort()).toContain('warm');
  expect(many.map(startedAs).sort()).toContain('cold');
});

test('a sandbox that stands ready is none for other terms or another directory', async () => {
  const { run, workspace, stateDir } = await openCommandGateway('[process]\nwarm = 1\n', { isLasting: true });
  const ready = async () => {
    await run({ command: 'true' });
    await untilReady(stateDir, 1);
  };
  await ready();
  expect(startedAs(await run({ command: 'cat', stdin: 'given' }))).toBe('cold');
  await ready();
  expect(startedAs(await run({ command: 'true', limits: { memory_bytes: 300_000_000 } }))).toBe('cold');

  await ready();
  const secret = join(dirname(workspace), 'elsewhere');
  renameSync(workspace, secret);
  mkdirSync(workspace, { mode: 0o700 });
  onTestFinished(() => rmSync(secret, { recursive: true }));
  const moved = await run({ command: 'sh', args: ['-c', 'echo here >made'] });
  expect(startedAs(moved)).toBe('cold');
  expect(readFileSync(join(workspace, 'made'), 'utf8')).toBe('here\n');
});

test('a sandbox that stands ready is none once a directory that it shows is another', async () => {
  const tools = mkdtempSync('/var/tmp/palisade-tools-');
  onTestFinished(() => rmSync(tools, { recursive: true, force: true }));
  chmodSync(tools, 0o755);
  const shown = join(tools, 'shown');
  const put = (directory: string, words: string) => {
    mkdirSync(directory, { mode: 0o755 });
    writeFileSync(join(directory, 'tool'), `#!/bin/sh\necho ${words}\n`, { mode: 0o755 });
  };
  put(shown, 'old');
  const config = `[process]\nwarm = 1\nread_only = ["${shown}"]\n`;
  const { run, stateDir } = await openCommandGateway(config, { isLasting: true });
  const tool = { command: join(shown, 'tool') };
  expect((await run(tool)).output?.stdout).toBe('old\n');
  await untilReady(stateDir, 1);
  expect(startedAs(await run(tool))).toBe('warm');
  await untilReady(stateDir, 1);
  renameSync(shown, join(tools, 'aside'));
  put(shown, 'new');
  const after = await run(tool);
  expect([startedAs(after), after.output?.stdout]).toEqual(['cold', 'new\n']);
});

test('a sandbox that was killed while it stood ready is not used, and nothing is left after the close', async () => {
  const config = '[process]\nwarm = 2\n';
  const { run, stateDir, workspace, close } = await openCommandGateway(config, { isLasting: true });
  const before = traces(stateDir);
  writeFileSync(join(workspace, 'file'), 'content');
  await run({ command: 'true' });
  await untilReady(stateDir, 2);
  for (const line of traces(stateDir).processes) {
    const [pid = '', word = ''] = line.split(' ');
    if (word === '/.palisade/launcher') process.kill(Number(pid), 'SIGKILL');
  }
  expect(await run({ command: 'cat', args: ['file'] })).toMatchObject({
    code: 'ok',
    output: { stdout: 'content' },
  });
  await close();
  expect(await leftovers(stateDir, before)).toEqual(NO_TRACES);
});
