import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type UserGateway, userGateway } from '../fixtures/commands/as-user.ts';
import { sharedGateway } from '../fixtures/commands/index.ts';

/*
 * Something is mounted below the workspace: another disk, a share, a directory of the host. A command in a jail writes
 * there as soon as it runs, so the mount must be found before.
 */

const IS_ROOT = process.getuid?.() === 0;
const WRITE = { command: 'sh', args: ['-c', 'echo x > inner/written; echo ran > ran'], tier: 'c' };

/** Mounts in a mount namespace that ends with the gateway; an ordinary user needs a user namespace for it as well. */
function mounting(workspace: string): readonly string[] {
  const unshare = ['unshare', '--mount', ...(IS_ROOT ? [] : ['--user', '--map-current-user', '--keep-caps'])];
  const script = 'mkdir -p "$1/inner" && mount -t tmpfs -o mode=777 none "$1/inner" && shift && exec "$@"';
  return [...unshare, '/bin/sh', '-c', script, 'sh', workspace];
}

describe('the gateway of an ordinary user', () => {
  const plain: UserGateway = userGateway();
  const mounted: UserGateway = userGateway({ starter: mounting });

  test('starts no command in a jail whose workspace has a mount in it', async () => {
    const [end] = await mounted.run({ shape: 'c', input: WRITE });
    expect(end).toMatchObject({ code: 'tier/not-started', output: null });
    expect(end?.message).toBe(
      `Cannot use the workspace "${mounted.workspace}": "${mounted.workspace}/inner" is a mount point, expected a directory with no mount in it`,
    );
    expect(existsSync(join(mounted.workspace, 'ran'))).toBe(false);
  });

  test('starts the same command where it is a directory', async () => {
    const input = { ...WRITE, args: ['-c', `mkdir inner; ${WRITE.args[1]}`] };
    const [end] = await plain.run({ shape: 'c', input });
    expect(end, end?.message).toMatchObject({ code: 'ok' });
    expect(existsSync(join(plain.workspace, 'inner/written'))).toBe(true);
  });
});

describe('a gateway that may be root', () => {
  const gateway = sharedGateway();
  const inner = join(gateway.workspace, 'inner');
  mkdirSync(inner);
  // An ordinary user cannot mount here; then the command runs, and nothing is mounted.
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'mode=777', 'none', inner]).status === 0;
  afterAll(() => void spawnSync('umount', [inner]));

  test.each(['b', 'c'])('refuses the call in tier %s before anything is recorded as begun', async (tier) => {
    writeFileSync(join(inner, 'canary'), 'kept');
    const end = await gateway.run({ ...WRITE, tier });
    expect(end, end.message).toMatchObject({ code: isMounted ? 'tier/unenforceable' : 'ok' });
    expect(existsSync(join(gateway.workspace, 'ran'))).toBe(!isMounted);
    expect(existsSync(join(inner, 'written'))).toBe(!isMounted);
  });

  test('runs it again when nothing is mounted', async () => {
    spawnSync('umount', [inner]);
    expect(await gateway.run(WRITE)).toMatchObject({ code: 'ok' });
    expect(existsSync(join(inner, 'written'))).toBe(true);
  });
});
