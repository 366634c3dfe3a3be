import { expect, test } from 'vitest';
import { openCommandGateway } from '../fixtures/commands/index.ts';

test.each(['b', 'c'])('a command runs in tier %s and its receipt names it', async (tier) => {
  const { run } = await openCommandGateway();
  const end = await run({ command: 'sh', args: ['-c', 'echo $((6*7))'], tier });
  expect(end).toMatchObject({ code: 'ok', output: { stdout: '42\n', exitCode: 0 } });
  expect(end.execution?.tier).toBe(tier);
});
