import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { userGateway } from '../fixtures/commands/as-user.ts';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { answersIn, tryOutside } from '../fixtures/jail/index.ts';

/* A command queues termination signals to its launcher that name another sender, so that its end looks like an order. */

const PROGRAM = 'forges-signals.py';
const FIXTURES = fileURLToPath(new URL('../fixtures/jail/', import.meta.url));
const root = sharedGateway();
const user = userGateway();

function inputIn(workspace: string, tier: string): object {
  for (const name of ['attempt.py', PROGRAM]) copyFileSync(join(FIXTURES, name), join(workspace, name));
  return {
    command: '/usr/bin/python3',
    args: ['-B', PROGRAM],
    tier,
    stdin: JSON.stringify({ numbers: [15, 2, 1] }),
  };
}

describe.each(['b', 'c', 'b-landlock'] as const)('in shape %s', (shape) => {
  const tier = shape === 'c' ? 'c' : 'b';

  test('a user’s run goes on to its end, and is not called ended by others', async () => {
    const [end] = await user.run({ shape, input: { ...inputIn(user.workspace, tier) } });
    expect(end, end?.message).toMatchObject({ code: 'ok', output: { exitCode: 0, signal: null } });
    expect(end?.output?.stdout).toContain('still here\n');
    const answers = answersIn(end?.output?.stdout ?? '');
    // Landlock may keep it from sending any; where it can, the kernel refuses to forge what it vouches for.
    expect(answers['15 -1 0']).toMatch(shape === 'b-landlock' ? /^(sent|EPERM)$/ : /^sent$/);
    expect(answers['15 128 0']).toBe('EPERM');
  });
});

test.each(['b', 'c'])('a run of a gateway that may be root, in tier %s, goes on to its end', async (tier) => {
  const end = await root.run(inputIn(root.workspace, tier));
  expect(end, end.message).toMatchObject({ code: 'ok', output: { exitCode: 0 } });
  expect(end.output?.stdout).toContain('still here\n');
});

test('a forged signal is shown to its receiver with the sender that it names', () => {
  // Only to itself: without the guard, the parent would be the process of the tests.
  expect(tryOutside(PROGRAM, { numbers: [] }, root.workspace).shown).toBe('-1 0');
});
