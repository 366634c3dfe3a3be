import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { type CheckedSets, shippedChecks } from '../../src/policy/memory.ts';
import { openTestGateway } from '../fixture/gateway.ts';

const FILE = resolve(import.meta.dirname, '../../src/policy/starter-checks.generated.ts');

const HEAD = `/*
 * The key of the check of the starter policies against the tools of every gateway, which is the first work of a new state
 * directory. Written by its test, which makes that check: after a change of a tool, the schema or the policies run
 * \`npm run fix\`.
 */
`;

test('the starter policies pass their check, and a first start need not make it again', async () => {
  const checked: CheckedSets = new Map();
  const { policy } = await openTestGateway({ checked });
  expect([...checked.values()]).toMatchObject([{ set: policy.set, warnings: [] }]);
  const [key = ''] = checked.keys();
  await expect(`${HEAD}export const STARTER_CHECK = '${key}';\n`).toMatchFileSnapshot(FILE);
  expect([...shippedChecks()]).toEqual([[key, { set: policy.set, warnings: [] }]]);
});
