import { describe, expect, it } from 'vitest';
import { formatScope, GLOBAL, MAX_SECRETS, MAX_VALUE_BYTES } from '../../src/vault/secret.ts';
import { GRACE, NOON } from '../fixture/gateway.ts';
import { ASKER, bytes, NO_CALL, openVault, put, refusal, scoped, VALUE, valueIn } from './sample.ts';

describe('Vault', () => {
  it('gives back what was set, also to a process that opens it later', async () => {
    const first = openVault();
    await put(first.vault, 'github', VALUE);
    const second = openVault({ directory: first.directory });
    expect(await valueIn(first.vault, 'github')).toBe(VALUE);
    expect(await valueIn(second.vault, 'github')).toBe(VALUE);
  });

  it.each([
    ['one byte', Buffer.from([0])],
    ['as many bytes as are allowed', Buffer.alloc(MAX_VALUE_BYTES, 7)],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0, 0x80, 0xc0])],
    ['JSON', Buffer.from('{"value":"[1,2]","sealed":null}')],
    ['terminal escapes', Buffer.from('\x1b]0;owned\x07\x1b[2J\r\n')],
    ['statements', Buffer.from("'); DROP TABLE vault_secret; --")],
    ['line ends', Buffer.from('-----BEGIN KEY-----\nabc\n-----END KEY-----\n')],
  ])('keeps %s byte for byte', async (_, value) => {
    const { vault } = openVault();
    await vault.set('odd', GLOBAL, value, GRACE);
    const ref = vault.find('odd', ASKER);
    if (ref === null) throw new Error('Cannot find the secret');
    expect(Buffer.from(await vault.reveal(ref, NO_CALL)).equals(value)).toBe(true);
    expect(vault.list()).toMatchObject([{ bytes: value.length }]);
  });

  it.each([
    ['an empty value', 'github', new Uint8Array()],
    ['a value of one byte too many', 'github', new Uint8Array(MAX_VALUE_BYTES + 1)],
    ['an empty name', '', bytes(VALUE)],
    ['a name with a path in it', '../github', bytes(VALUE)],
    ['a name with its value behind it', `github=${VALUE}`, bytes(VALUE)],
  ])('refuses %s and quotes nothing of it', async (_, name, value) => {
    const { vault, events, directory } = openVault();
    const { code, message, remedy } = await refusal(() => vault.set(name, GLOBAL, value, GRACE));
    expect(code).toBe('door/wrong-usage');
    expect(message).toMatch(/^Cannot use .*, expected /);
    expect(message + remedy).not.toContain(VALUE);
    expect(events).toEqual([]);
    expect(openVault({ directory }).vault.list()).toEqual([]);
  });

  it.each([
    { kind: 'global', subject: 'x' },
    { kind: 'tenant', subject: '' },
    { kind: 'tenant', subject: 'a b' },
    { kind: 'principal', subject: 'ada' },
    { kind: 'skill', subject: '../x' },
  ] as const)('refuses the scope $kind with the subject "$subject"', async (scope) => {
    const { vault } = openVault();
    expect((await refusal(() => vault.set('github', scope, bytes(VALUE), GRACE))).code).toBe(
      'door/wrong-usage',
    );
  });

  it('keeps the bytes of the moment it was asked, whatever the caller does with them next', async () => {
    const { vault } = openVault();
    const value = Buffer.from(VALUE);
    const setting = vault.set('github', GLOBAL, value, GRACE);
    value.fill(0x78);
    await setting;
    expect(await valueIn(vault, 'github')).toBe(VALUE);
  });

  it('counts versions, and tells when each value was set and used', async () => {
    const { vault, clock } = openVault();
    await put(vault, 'github', 'first-value');
    clock.add(1000);
    await put(vault, 'github', 'second-value');
    expect(vault.list()).toEqual([
      { name: 'github', scope: GLOBAL, version: 2, createdAtMs: NOON + 1000, usedAtMs: null, bytes: 12 },
    ]);
    clock.add(1000);
    expect(await valueIn(vault, 'github')).toBe('second-value');
    expect(vault.list()).toMatchObject([{ version: 2, createdAtMs: NOON + 1000, usedAtMs: NOON + 2000 }]);
  });

  it('reveals the newest value to a reader that found an older one', async () => {
    const { vault } = openVault();
    await put(vault, 'github', 'first-value');
    const ref = vault.find('github', ASKER);
    await put(vault, 'github', 'second-value');
    if (ref === null) throw new Error('Cannot find the secret');
    expect(Buffer.from(await vault.reveal(ref, NO_CALL)).toString()).toBe('second-value');
  });

  it('removes a secret once, and reveals it to nobody who found it before', async () => {
    const { vault } = openVault();
    await put(vault, 'github', VALUE);
    const ref = vault.find('github', ASKER);
    if (ref === null) throw new Error('Cannot find the secret');
    expect(await vault.remove('github', GLOBAL, GRACE)).toBe(true);
    expect(await vault.remove('github', GLOBAL, GRACE)).toBe(false);
    expect(vault.find('github', ASKER)).toBeNull();
    expect((await refusal(() => vault.reveal(ref, NO_CALL))).code).toBe('vault/missing');
    await put(vault, 'github', 'anew');
    expect(await valueIn(vault, 'github')).toBe('anew');
  });

  it('asks for nothing and makes nothing until it is used', async () => {
    const { vault, events } = openVault({ settings: { key: 'passphrase' } });
    expect([vault.list(), vault.find('github', ASKER), vault.lockedWith]).toEqual([[], null, null]);
    expect(await vault.remove('github', GLOBAL, GRACE)).toBe(false);
    expect(events).toEqual([]);
  });

  it(`takes at most ${MAX_SECRETS} secrets, and new values for those`, async () => {
    const { vault } = openVault();
    await Promise.all(Array.from({ length: 20 }, (_, i) => put(vault, `s${i}`, VALUE)));
    await fill(vault, 20);
    expect(vault.list()).toHaveLength(MAX_SECRETS);
    expect(await refusal(() => put(vault, 'one-more', VALUE))).toMatchObject({
      code: 'door/wrong-usage',
      message: expect.stringContaining(`expected at most ${MAX_SECRETS}`),
    });
    await put(vault, 's7', 'another value');
    expect(await valueIn(vault, 's7')).toBe('another value');
    expect(await valueIn(vault, `s${MAX_SECRETS - 1}`)).toBe(VALUE);
    expect(await vault.rotate(GRACE)).toMatchObject({ secrets: MAX_SECRETS });
    expect(await valueIn(vault, 's7')).toBe('another value');
  }, 120_000);
});

/** Sets the rest of all secrets, few enough at a time that none waits for long. */
async function fill(vault: Parameters<typeof put>[0], from: number): Promise<void> {
  for (let next = from; next < MAX_SECRETS; next += 250) {
    const names = Array.from({ length: Math.min(250, MAX_SECRETS - next) }, (_, i) => `s${next + i}`);
    await Promise.all(names.map((name) => put(vault, name, VALUE)));
  }
}

describe('a look-up', () => {
  const SCOPES = ['global', 'tenant:acme', 'principal:agent:ada', 'skill:publisher/tool'];
  const asker = {
    tenant: 'acme',
    principal: { kind: 'agent', name: 'ada' },
    skill: 'publisher/tool',
  } as const;

  it('gives the most specific of skill, principal, tenant and all', async () => {
    const { vault } = openVault();
    for (const scope of SCOPES) {
      await put(vault, 'db', `value for ${scope}`, scoped(scope));
      const ref = vault.find('db', asker);
      expect(ref === null ? null : formatScope(ref.scope)).toBe(scope);
      expect(await valueIn(vault, 'db', asker)).toBe(`value for ${scope}`);
    }
    for (const scope of SCOPES.toReversed()) {
      expect(await valueIn(vault, 'db', asker)).toBe(`value for ${scope}`);
      await vault.remove('db', scoped(scope), GRACE);
    }
    expect(await valueIn(vault, 'db', asker)).toBeUndefined();
  });

  it.each([
    ['of another tenant', 'tenant:acme', { ...asker, tenant: 'other' }],
    ['of another agent', 'principal:agent:ada', { ...asker, principal: { kind: 'agent', name: 'bob' } }],
    [
      'of a user of the same name',
      'principal:agent:ada',
      { ...asker, principal: { kind: 'user', name: 'ada' } },
    ],
    ['of another skill', 'skill:publisher/tool', { ...asker, skill: 'publisher/tool2' }],
    ['outside of any skill', 'skill:publisher/tool', { ...asker, skill: null }],
  ] as const)('finds no secret %s', async (_, scope, other) => {
    const { vault } = openVault();
    await put(vault, 'db', VALUE, scoped(scope));
    expect(vault.find('db', other)).toBeNull();
    expect(await valueIn(vault, 'db', asker)).toBe(VALUE);
  });

  it('refuses when a more specific secret appears between the look and the use', async () => {
    const { vault } = openVault();
    await put(vault, 'db', 'for everybody');
    const ref = vault.find('db', asker);
    await put(vault, 'db', 'for ada', scoped('principal:agent:ada'));
    if (ref === null) throw new Error('Cannot find the secret');
    expect((await refusal(() => vault.reveal(ref, NO_CALL))).code).toBe('vault/missing');
    expect(await valueIn(vault, 'db', asker)).toBe('for ada');
  });
});

describe('the events of a vault', () => {
  it('say who did what to which secret, and never have a value', async () => {
    const { vault, events } = openVault();
    await put(vault, 'db', VALUE, scoped('tenant:acme'));
    const asker = { ...ASKER, tenant: 'acme' };
    const ref = vault.find('db', asker);
    if (ref === null) throw new Error('Cannot find the secret');
    await vault.reveal(ref, { call: 'call_1', tool: 'palisade.echo' });
    await vault.rotate(GRACE);
    await vault.remove('db', scoped('tenant:acme'), GRACE);
    const act = { principal: 'user:grace' };
    const db = { name: 'db', scope: 'tenant:acme', version: 1 };
    expect(events).toEqual([
      { ...act, kind: 'vault-founded', body: { lock: 'file' } },
      { ...act, kind: 'secret-set', body: { ...db, bytes: VALUE.length } },
      {
        kind: 'secret-used',
        call: 'call_1',
        principal: 'agent:ada',
        tool: 'palisade.echo',
        tenant: 'acme',
        body: db,
      },
      { ...act, kind: 'vault-rotated', body: { from: 'file', to: 'file', secrets: 1, lost: false } },
      { ...act, kind: 'secret-removed', body: db },
    ]);
    expect(JSON.stringify(events)).not.toContain(VALUE);
  });

  it('come with the change or not at all', async () => {
    const { vault, events, directory } = openVault();
    await put(vault, 'db', VALUE);
    events.push = () => {
      throw new TypeError('Cannot record: the disk is full');
    };
    const ref = vault.find('db', ASKER);
    if (ref === null) throw new Error('Cannot find the secret');
    await expect(vault.reveal(ref, NO_CALL)).rejects.toThrow('the disk is full');
    await expect(put(vault, 'db', 'another value')).rejects.toThrow('the disk is full');
    await expect(vault.remove('db', GLOBAL, GRACE)).rejects.toThrow('the disk is full');
    await expect(vault.rotate(GRACE)).rejects.toThrow('the disk is full');
    const later = openVault({ directory }).vault;
    expect(later.list()).toMatchObject([{ version: 1, usedAtMs: null }]);
    expect(await valueIn(later, 'db')).toBe(VALUE);
  });
});
