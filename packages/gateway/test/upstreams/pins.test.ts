import { describe, expect, onTestFinished, test } from 'vitest';
import type { UpstreamRule } from '../../src/config/config.ts';
import type { Digest } from '../../src/core/digest.ts';
import { digestBytes } from '../../src/core/digest.ts';
import { Store } from '../../src/store/store.ts';
import { readDefinitions } from '../../src/upstreams/definition.ts';
import {
  accept,
  type Offer,
  pinEpoch,
  pinFirst,
  pinHead,
  pinOf,
  quarantine,
  ruleDigest,
  upstreamMigrations,
} from '../../src/upstreams/pins.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const RULE = digestBytes('rule');
const BY = { by: 'user:grace', nowMs: 1000 };

function openStore(): Store {
  const store = new Store({
    directory: tempDir(),
    migrations: upstreamMigrations,
    busyTimeoutMs: 1000,
    nowMs: 0,
  });
  onTestFinished(() => store.close());
  return store;
}

function offer(name: string, rule: Digest = RULE): Offer {
  const read = readDefinitions([{ name, description: '', inputSchema: { type: 'object' } }]);
  if (!read.ok) throw new Error(read.problem);
  return { set: read.value, rule };
}

describe('a pin', () => {
  test('is what was offered first, until something else is accepted', () => {
    const store = openStore();
    expect(pinOf(store, 'files')).toBeNull();
    store.transact((tx) => pinFirst(tx, 'files', offer('read'), BY));
    expect(pinOf(store, 'files')).toMatchObject({ state: 'accepted', revision: 1, acceptedBy: 'user:grace' });
    const before = pinEpoch(store);
    store.transact((tx) => quarantine(tx, 'files', offer('write'), { reason: 'other', nowMs: 2000 }));
    expect(pinOf(store, 'files')).toMatchObject({
      state: 'quarantined',
      reason: 'other',
      accepted: { definitions: [{ name: 'read' }] },
      offered: { definitions: [{ name: 'write' }] },
    });
    expect(pinEpoch(store)).toBeGreaterThan(before);
    store.transact((tx) => accept(tx, 'files', offer('write'), { by: 'user:bob', nowMs: 3000 }));
    expect(pinOf(store, 'files')).toMatchObject({
      state: 'accepted',
      acceptedBy: 'user:bob',
      accepted: { definitions: [{ name: 'write' }] },
      offered: null,
      reason: null,
    });
    expect(pinHead(store, 'files')).toMatchObject({ state: 'accepted', revision: 3 });
  });

  test('of nobody cannot be accepted or put into quarantine', () => {
    const store = openStore();
    expect(() => store.transact((tx) => accept(tx, 'files', offer('read'), BY))).toThrow(/it does not exist/);
  });

  test('that was written by hand is not read', () => {
    const store = openStore();
    const set = { ...offer('read').set, text: '[]' };
    store.transact((tx) => pinFirst(tx, 'files', { set, rule: RULE }, BY));
    expect(() => pinOf(store, 'files')).toThrow(/not what was accepted/);
  });
});

describe('ruleDigest()', () => {
  const rule: UpstreamRule = {
    name: 'files',
    command: ['node', 'a.js'],
    tier: 'c',
    workspace: null,
    env: ['A=1', 'B=2'],
    readOnly: [],
    allowHosts: [],
    secrets: [],
    risk: 'low',
    elicitation: 'off',
    prefix: 'files.',
  };

  test('is another one for another command or other variables, and for nothing else', () => {
    const digest = ruleDigest(rule);
    expect(ruleDigest({ ...rule, command: ['node', 'b.js'] })).not.toBe(digest);
    expect(ruleDigest({ ...rule, env: ['A=1'] })).not.toBe(digest);
    expect(ruleDigest({ ...rule, env: ['B=2', 'A=1'], risk: 'high', tier: 'b' })).toBe(digest);
  });
});
