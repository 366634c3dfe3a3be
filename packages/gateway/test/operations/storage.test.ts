import { describe, expect, it } from 'vitest';
import { parsePrefix, type StoragePrefix } from '../../src/core/storage-key.ts';
import { Space } from '../../src/storage/space.ts';
import { GRACE, openTestGateway, recordsOf, type TestGateway } from '../fixture/gateway.ts';
import { ask, callerOf } from './ask.ts';

const OPERATOR = callerOf(GRACE);
const TENANT = callerOf({ kind: 'user', name: 'tess' }, undefined, 'acme');

/** A space of a skill, as a call with a grant for all of it has it. */
function spaceOf({ store }: TestGateway, tenant: string, skill = 'acme.notes'): Space {
  const all = parsePrefix('/');
  const prefixes: StoragePrefix[] = all.ok ? [all.value] : [];
  return new Space(store, { tenant, skill, grants: { read: prefixes, write: prefixes } });
}

async function fill(space: Space, entries: Readonly<Record<string, string | Uint8Array>>) {
  for (const [key, value] of Object.entries(entries)) {
    const put = await space.put(key, typeof value === 'string' ? Buffer.from(value) : value);
    if (!put.ok) throw new Error(put.message);
  }
}

const list = (gateway: TestGateway, query = {}, as = OPERATOR) => ask(gateway, 'listStorage', { as, query });
const keys = (gateway: TestGateway, query = {}, as = OPERATOR) =>
  ask(gateway, 'listStorageKeys', { as, params: { skill: 'acme.notes' }, query });
const value = (gateway: TestGateway, key: string, as = OPERATOR) =>
  ask(gateway, 'getStorageValue', { as, params: { skill: 'acme.notes' }, query: { key } });
const remove = (gateway: TestGateway, query = {}, as = OPERATOR) =>
  ask(gateway, 'deleteStorage', { as, params: { skill: 'acme.notes' }, query });

describe('/v1/storage', () => {
  it('lists the spaces of the tenant with keys and bytes, page by page, and never a value', async () => {
    const gateway = await openTestGateway();
    await fill(spaceOf(gateway, 'default'), { 'a/1': 'value-one', 'a/ü': 'value-two' });
    await fill(spaceOf(gateway, 'default', 'acme.text'), { x: '1' });
    await fill(spaceOf(gateway, 'acme'), { other: 'tenant' });
    const first = await list(gateway, { limit: 1 });
    const row = { tenant: 'default', installed: false };
    expect(first.body).toEqual({
      spaces: [{ ...row, skill: 'acme.notes', keys: 2, bytes: 3 + 4 + 18 }],
      cursor: 'default:acme.notes',
    });
    const second = await list(gateway, { limit: 1, cursor: first.body.cursor });
    expect(second.body).toEqual({
      spaces: [{ ...row, skill: 'acme.text', keys: 1, bytes: 2 }],
      cursor: null,
    });
    expect((await list(gateway, { tenant: 'acme' })).body.spaces).toEqual([]);
    expect(JSON.stringify([first, second])).not.toContain('value-');
    expect((await list(gateway, { cursor: 'no cursor' })).status).toBe(400);
  });

  it('lists the keys at and beneath a prefix, and shows a value for its key', async () => {
    const gateway = await openTestGateway();
    await fill(spaceOf(gateway, 'default'), {
      a: 'itself',
      'a/b': 'text: ü',
      'a-b': 'beside',
      z: Uint8Array.of(255),
    });
    expect((await keys(gateway, { prefix: 'a' })).body.keys).toEqual([
      { key: 'a', version: 1, bytes: 6 },
      { key: 'a/b', version: 2, bytes: 8 },
    ]);
    const page = await keys(gateway, { limit: 3 });
    expect(page.body.cursor).toBe('a/b');
    expect((await keys(gateway, { cursor: page.body.cursor })).body.keys).toMatchObject([{ key: 'z' }]);
    expect((await value(gateway, 'a/b')).body).toMatchObject({
      encoding: 'utf-8',
      value: 'text: ü',
      truncated: false,
    });
    expect((await value(gateway, 'z')).body).toMatchObject({ encoding: 'base64', value: '/w==', bytes: 1 });
    expect((await value(gateway, 'a/c')).status).toBe(404);
    expect((await value(gateway, '../a')).status).toBe(400);
  });

  it('shows the beginning of a long value', async () => {
    const gateway = await openTestGateway();
    await fill(spaceOf(gateway, 'default'), {
      text: 'x'.repeat(100_000),
      bytes: new Uint8Array(100_000).fill(255),
    });
    const { body: text } = await value(gateway, 'text');
    expect(text).toMatchObject({ bytes: 100_000, truncated: true });
    expect(text.value.length).toBeLessThan(65_600);
    const { body: bytes } = await value(gateway, 'bytes');
    expect(bytes.truncated).toBe(true);
    expect(Buffer.from(bytes.value, 'base64')).toHaveLength(65_536);
  });

  it('deletes a key, a prefix or everything, with a record, and keeps the account of the space', async () => {
    const gateway = await openTestGateway();
    const space = spaceOf(gateway, 'default');
    await fill(space, { a: '1', 'a/b': '22', 'a/ü': '333', 'a-b': '4', z: '5' });
    expect((await remove(gateway, { key: 'z' })).body).toEqual({ skill: 'acme.notes', keys: 1, bytes: 2 });
    expect((await remove(gateway, { prefix: 'a/' })).body).toEqual({
      skill: 'acme.notes',
      keys: 3,
      bytes: 2 + 5 + 7,
    });
    expect((await list(gateway)).body.spaces).toMatchObject([{ keys: 1, bytes: 4 }]);
    expect((await remove(gateway, { all: 'true' })).body).toEqual({ skill: 'acme.notes', keys: 1, bytes: 4 });
    expect((await list(gateway)).body.spaces).toEqual([]);
    // A version is never used twice, also after everything was deleted.
    expect(await space.put('a', Buffer.from('new'), { ifVersion: 'absent' })).toMatchObject({ version: 6 });
    const records = recordsOf(gateway).filter(({ kind }) => kind === 'storage-deleted');
    expect(records.map(({ line }) => JSON.parse(line).body)).toMatchObject([
      { skill: 'acme.notes', what: 'key', key: 'z', keys: 1 },
      { skill: 'acme.notes', what: 'prefix', prefix: 'a', keys: 3 },
      { skill: 'acme.notes', what: 'all', keys: 1 },
    ]);
  });

  it.each([{}, { all: 'false' }, { key: 'a', all: 'true' }, { prefix: '/' }, { key: 'a', prefix: 'a' }])(
    'deletes nothing for %j',
    async (query) => {
      const gateway = await openTestGateway();
      await fill(spaceOf(gateway, 'default'), { a: '1' });
      expect((await remove(gateway, query)).status).toBe(400);
      expect((await list(gateway)).body.spaces).toMatchObject([{ keys: 1 }]);
    },
  );

  it('is of the tenant of the caller alone, and of its administrators', async () => {
    const gateway = await openTestGateway();
    await fill(spaceOf(gateway, 'default'), { a: 'of default' });
    expect((await list(gateway, {}, TENANT)).body.spaces).toEqual([]);
    expect((await list(gateway, { tenant: 'default' }, TENANT)).body.spaces).toEqual([]);
    expect((await keys(gateway, {}, TENANT)).body.keys).toEqual([]);
    expect((await value(gateway, 'a', TENANT)).status).toBe(404);
    expect((await remove(gateway, { all: 'true' }, TENANT)).body).toMatchObject({ keys: 0 });
    const agent = callerOf({ kind: 'agent', name: 'ada' });
    for (const denied of [
      list(gateway, {}, agent),
      value(gateway, 'a', agent),
      remove(gateway, { all: 'true' }, agent),
    ])
      expect((await denied).status).toBe(403);
    expect((await value(gateway, 'a')).body.value).toBe('of default');
  });
});
