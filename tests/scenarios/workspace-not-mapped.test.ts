import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openCommandGateway } from '../fixtures/commands/index.ts';

const isRoot = process.getuid?.() === 0;

/** Memory without the means to show files as another user's. */
function mountRamfs(directory: string): void {
  mkdirSync(directory);
  execFileSync('mount', ['-t', 'ramfs', '-o', 'mode=755', 'none', directory]);
  onTestFinished(() => {
    execFileSync('umount', [directory]);
  });
}

const title = isRoot
  ? 'a gateway that is root refuses a workspace that it cannot give to another user, with the fix'
  : 'a gateway that is not root has no other user to give a workspace to';

test(title, async () => {
  const { run, workspace } = await openCommandGateway();
  chmodSync(workspace, 0o711);
  const inside = join(workspace, 'memory/work');
  if (isRoot) mountRamfs(join(workspace, 'memory'));
  mkdirSync(inside, { recursive: true });
  const beside = join(workspace, 'disk');
  mkdirSync(beside);
  for (const tier of ['b', 'c']) {
    const there = await run({ command: 'true', tier, workspace: inside });
    const mapped = 'cannot be given to another user: it failed at "workspace-idmap"';
    expect(there.code).toBe(isRoot ? 'tier/unenforceable' : 'ok');
    expect(there.message).toEqual(isRoot ? expect.stringContaining(mapped) : '');
    expect((await run({ command: 'true', tier, workspace: beside })).code).toBe('ok');
  }
});
