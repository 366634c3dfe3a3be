/** A command that uses a secret of the vault without having it. */
import { expect, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { openRecords } from '../../packages/gateway/src/open.ts';
import { GLOBAL } from '../../packages/gateway/src/vault/secret.ts';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';

const VALUE = 'tok-9b21-of-the-vault';
const BY = { kind: 'user', name: 'tester' } as const;

test('a secret without a file is that of the vault: the server sees it, the run does not', async () => {
  const server = await startServer();
  const at = `127.0.0.1:${server.port}`;
  const world = await openEgressWorld({
    entries: [`http://${at}`],
    config: `[[secret]]\nname = "token"\nvariable = "TOKEN"\nhosts = ["${at}"]\n`,
  });
  const ask = () =>
    world.shell(`env; curl -sS -H "Authorization: Bearer $TOKEN" http://${at}/`, { secrets: ['token'] });
  expect(await ask()).toMatchObject({
    code: 'tier/not-started',
    message: expect.stringContaining('the vault lacks a secret of that name'),
  });
  const records = await openRecords({ stateDir: world.stateDir, env: readEnvironment({}), version: '0.0.0' });
  await records.vault.set('token', GLOBAL, Buffer.from(VALUE), BY);
  await records.close();
  const { code, output, egress } = await ask();
  expect(code).toBe('ok');
  expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${VALUE}`]);
  expect(egress.decisions).toMatchObject([{ verdict: 'allow', secrets: ['token'] }]);
  expect(JSON.stringify(output)).not.toContain(VALUE);
});
