import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { userGateway } from '../fixtures/commands/as-user.ts';
import { nodeForAll } from '../fixtures/commands/for-all.ts';
import { handOver, heldGateway, outcomesIn } from '../fixtures/commands/held.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { openSites } from '../fixtures/egress/sites.ts';
import { asNobody } from '../fixtures/jail/index.ts';

/** What bubblewrap puts around the gateway to make of this machine one where nobody may make namespaces. */
const MACHINES = {
  'as it is': ['--dev-bind', '/', '/'],
  'without namespaces': ['--unshare-user', '--disable-userns', '--dev-bind', '/', '/'],
};

describe('a strict run with hosts, where the machine cannot hold it', () => {
  const program = heldGateway();
  test('is refused in both tiers and not started in less', async () => {
    const gateway = await program();
    const outcomes = Object.values(MACHINES).map((around) => {
      const directories = makeDirectories('[process]\negress_hosts = ["ok.test"]\n');
      onTestFinished(() => rmSync(dirname(directories.stateDir), { recursive: true, force: true }));
      const ids = asNobody();
      if (ids.uid !== undefined) handOver(directories, ids.uid);
      const tiers = ['b', 'c'];
      const inputs = tiers.map((tier) => JSON.stringify({ command: 'touch', args: [`ran-${tier}`], tier }));
      const words = [
        ...around,
        '--',
        nodeForAll(dirname(gateway)),
        gateway,
        directories.stateDir,
        directories.workspace,
        ...inputs,
      ];
      const { stdout, stderr } = spawnSync('/usr/bin/bwrap', words, { cwd: '/', encoding: 'utf8', ...ids });
      const codes = outcomesIn(stdout).map(({ code }) => code);
      const ran = tiers.filter((tier) => existsSync(join(directories.workspace, `ran-${tier}`)));
      return { codes, ran, stderr };
    });
    const refused = expect.stringMatching(/^tier\/(unenforceable|not-started)$/);
    expect(outcomes).toMatchObject([
      { codes: ['ok', 'ok'], ran: ['b', 'c'] },
      { codes: [refused, refused], ran: [] },
    ]);
  });

  const user = userGateway();
  test('is refused in tier B with Landlock alone, which does not know of hosts', async () => {
    const job = (egress_hosts: readonly string[], marker: string) =>
      ({ shape: 'b-landlock', input: { command: 'touch', args: [marker], egress_hosts } }) as const;
    const [without, withHosts] = await user.run(job([], 'without'), job(['ok.test'], 'with'));
    expect(without, without?.message).toMatchObject({ code: 'ok' });
    expect(withHosts).toMatchObject({ code: 'tier/not-started', output: null });
    expect(withHosts?.message).toContain('Cannot hold the network to a list of hosts');
    expect([existsSync(join(user.workspace, 'without')), existsSync(join(user.workspace, 'with'))]).toEqual([
      true,
      false,
    ]);
  });

  test('is refused in tier B when its TLS is to be opened, since it would trust the files of the host', async () => {
    const { world, secure } = await openSites({ opensTls: true });
    writeFileSync(join(world.workspace, 'line.sh'), `touch ran; curl -s ${secure.url}/`);
    const inB = await world.run({ command: '/bin/sh', args: ['line.sh'], tier: 'b' });
    expect(inB).toMatchObject({ code: 'tier/unenforceable', output: null });
    expect([existsSync(join(world.workspace, 'ran')), secure.asked]).toEqual([false, []]);
    const inC = await world.run({ command: '/bin/sh', args: ['line.sh'], tier: 'c' });
    expect([inC.code, secure.asked.length]).toEqual(['ok', 1]);
  });
});
