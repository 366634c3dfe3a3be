import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GLOBAL } from '../../src/vault/secret.ts';
import { bodyOf, callTool, GRACE, openTestGateway, recordsOf } from '../fixture/gateway.ts';
import { openTestRecords, verified } from '../journal/sample.ts';
import { ASKER, NO_CALL, scoped, VALUE, valueIn } from './sample.ts';

describe('the vault of a gateway', () => {
  it('writes every act into the journal, which verifies, and none of the values', async () => {
    const gateway = await openTestGateway();
    const { vault } = gateway;
    await vault.set('db', scoped('tenant:default'), Buffer.from(VALUE), GRACE);
    const ref = vault.find('db', ASKER);
    if (ref === null) throw new Error('Cannot find the secret');
    await Promise.all([
      vault.reveal(ref, { call: 'call_1', tool: 'palisade.echo' }),
      callTool(gateway, 'palisade.echo'),
    ]);
    await vault.rotate(GRACE);
    await vault.remove('db', scoped('tenant:default'), GRACE);
    const records = recordsOf(gateway).filter(({ kind }) => /^(?:vault|secret)-/.test(kind));
    expect(
      records.map(({ kind, principal, call, tool, tenant }) => [kind, principal, call, tool, tenant]),
    ).toEqual([
      ['vault-founded', 'user:grace', null, null, null],
      ['secret-set', 'user:grace', null, null, null],
      ['secret-used', 'agent:ada', 'call_1', 'palisade.echo', 'default'],
      ['vault-rotated', 'user:grace', null, null, null],
      ['secret-removed', 'user:grace', null, null, null],
    ]);
    expect(bodyOf(records[1])).toEqual({
      name: 'db',
      scope: 'tenant:default',
      version: 1,
      bytes: VALUE.length,
    });
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('gives no value when its use cannot be recorded', async () => {
    const records = await openTestRecords();
    await records.vault.set('db', GLOBAL, Buffer.from(VALUE), GRACE);
    const count = recordsOf(records).length;
    const ref = records.vault.find('db', ASKER);
    if (ref === null) throw new Error('Cannot find the secret');
    const tooLong = { call: null, tool: 'x'.repeat(1024 * 1024) };
    await expect(records.vault.reveal(ref, tooLong)).rejects.toThrow('Cannot record "secret-used"');
    expect(recordsOf(records)).toHaveLength(count);
    expect(records.vault.list()).toMatchObject([{ usedAtMs: null }]);
    await records.vault.reveal(ref, NO_CALL);
    expect(recordsOf(records)).toHaveLength(count + 1);
  });

  it('leaves the signing keys alone, and they leave its key alone', async () => {
    const records = await openTestRecords();
    const signing = records.keys.currentId;
    await records.vault.set('db', GLOBAL, Buffer.from(VALUE), GRACE);
    await records.vault.rotate(GRACE);
    expect(records.keys.currentId).toBe(signing);
    expect(records.keys.list()).toHaveLength(1);
    await records.close();
    const next = await openTestRecords({ stateDir: records.stateDir });
    expect(await valueIn(next.vault, 'db')).toBe(VALUE);
    const names = readdirSync(join(records.stateDir, 'keys'));
    expect(names.filter((name) => name.startsWith('vault'))).toEqual(['vault.key']);
    expect(readFileSync(join(records.stateDir, 'keys', 'vault.key'), 'utf8')).toMatch(/^\S+ \S+\n$/);
  });
});
