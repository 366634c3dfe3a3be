import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { nodeForAll } from '../fixtures/commands/for-all.ts';
import { handOver, heldGateway, outcomesIn } from '../fixtures/commands/held.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { asNobody } from '../fixtures/jail/index.ts';

/** Machines that cannot hold a jail, made of this one: what bubblewrap puts around the gateway itself. */
const MACHINES = [
  { lacks: 'nothing', around: ['--dev-bind', '/', '/'], code: /^ok$/ },
  {
    lacks: 'a bubblewrap that runs',
    around: ['--dev-bind', '/', '/', '--ro-bind', '/dev/null', '/usr/bin/bwrap'],
  },
  {
    lacks: 'a bubblewrap that is one',
    around: ['--dev-bind', '/', '/', '--ro-bind', '/usr/bin/true', '/usr/bin/bwrap'],
  },
  {
    lacks: 'namespaces',
    around: ['--unshare-user', '--disable-userns', '--dev-bind', '/', '/'],
    code: /^tier\/(unenforceable|not-started)$/,
  },
];

describe('a gateway on a machine that cannot hold a jail', () => {
  const program = heldGateway();
  const places = MACHINES.map(() => makeDirectories(''));
  afterAll(() => {
    for (const { stateDir } of places) rmSync(dirname(stateDir), { recursive: true, force: true });
  });

  test.each(MACHINES.map((machine, index) => ({ ...machine, index })))(
    'refuses the command instead of running it in less, where it lacks $lacks',
    async ({ around, index, code = /^tier\/unenforceable$/ }) => {
      const place = places[index] ?? makeDirectories('');
      const ids = asNobody();
      if (ids.uid !== undefined) handOver(place, ids.uid);
      const input = JSON.stringify({ command: 'touch', args: ['ran'], tier: 'c' });
      const gateway = await program();
      const words = [
        ...around,
        '--',
        nodeForAll(dirname(gateway)),
        gateway,
        place.stateDir,
        place.workspace,
        input,
      ];
      const held = spawnSync('/usr/bin/bwrap', words, { cwd: '/', encoding: 'utf8', ...ids });
      const [outcome] = outcomesIn(held.stdout);
      expect(outcome, held.stderr).toMatchObject({ code: expect.stringMatching(code) });
      expect(existsSync(join(place.workspace, 'ran'))).toBe(outcome?.code === 'ok');
    },
  );
});
