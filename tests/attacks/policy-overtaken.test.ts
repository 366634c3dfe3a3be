import { realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { generateKey } from '../../packages/gateway/src/attest/key-files.ts';
import { digestBytes } from '../../packages/gateway/src/core/digest.ts';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { parsePrefix } from '../../packages/gateway/src/core/storage-key.ts';
import { administrator } from '../../packages/gateway/src/invoke/administer.ts';
import { localOwner } from '../../packages/gateway/src/operations/access.ts';
import { OPERATIONS } from '../../packages/gateway/src/operations/all.ts';
import { type OperationName, operate } from '../../packages/gateway/src/operations/operate.ts';
import { filesDigestOf } from '../../packages/gateway/src/policy/replace-files.ts';
import { enterSession, keyOf } from '../../packages/gateway/src/sessions/sessions.ts';
import { Space } from '../../packages/gateway/src/storage/space.ts';
import { Store } from '../../packages/gateway/src/store/store.ts';
import type { Transaction } from '../../packages/gateway/src/store/transaction.ts';
import { UndoRecords } from '../../packages/gateway/src/tiers/undo/records.ts';
import { Tree } from '../../packages/gateway/src/tiers/undo/tree.ts';
import { setOf } from '../../packages/gateway/src/upstreams/definition.ts';
import { holdFirst } from '../../packages/gateway/src/upstreams/pins.ts';
import {
  ADA,
  callTool,
  NOON,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
} from '../../packages/gateway/test/fixture/gateway.ts';
import { tempDir } from '../../packages/gateway/test/fixture/temp-dir.ts';
import { holdLock } from '../../packages/gateway/test/store/sample.ts';
import { publicDocument, samplePackage } from '../fixtures/skills/sample.ts';
import { OLGA, sharedSkillGateway } from '../fixtures/skills/skill-gateway.ts';

/* Between a decision and its durable intent lies a wait for the database; nothing may slip through there. */

type Policies = { readonly files: Record<string, string> };

const QUICK = '[policy]\nreload_ms = 1\n';

describe('a call that is decided but has not begun', () => {
  async function overtaken(change: string) {
    const gateway = await openTestGateway({ policies: PERMIT_ALL, toml: QUICK });
    await callTool(gateway, 'palisade.echo');
    const lock = holdLock(gateway.stateDir);
    const call = callTool(gateway, 'palisade.echo', { run: 'overtaken' });
    await sleep(100);
    writeFileSync(join(gateway.stateDir, 'policies', '99-late.cedar'), change);
    await sleep(50);
    lock.exec('ROLLBACK');
    return { gateway, ended: await call };
  }

  test('does not run when a forbid was put in place meanwhile', async () => {
    const { gateway, ended } = await overtaken(
      '@id("late") forbid(principal, action == Action::"call", resource);\n',
    );
    expect(ended.outcome).toMatchObject({ status: 'refused', code: 'policy/denied' });
    const records = recordsOf(gateway).filter(({ call }) => call === ended.callId);
    expect(records.map(({ kind }) => kind)).toEqual(['refused']);
  });

  test('runs under the new set when that permits it', async () => {
    const { gateway, ended } = await overtaken('@id("late") permit(principal, action, resource);\n');
    expect(ended.outcome.code).toBe('ok');
    const intent = recordsOf(gateway).find(({ call, kind }) => call === ended.callId && kind === 'intent');
    expect(intent?.line).toContain(gateway.policy.setDigest);
  });
});

describe('an act of an operator that is decided but not yet written', () => {
  const skills = sharedSkillGateway({ config: QUICK });
  const gatewayOf = () => skills().gateway;
  const PERMIT = 'permit(principal, action, resource)';
  const FORBID = 'forbid(principal, action, resource)';
  const owner = localOwner(OLGA, 'default');
  const NEVER = new AbortController().signal;
  const run = (name: OperationName, input: Json | object = {}) =>
    operate({ gateway: gatewayOf(), caller: owner, door: 'cli', signal: NEVER }, name, input);
  const policyFile = (name: string) => join(gatewayOf().store.directory, 'policies', name);
  const late = (effect: string) => `@id("late") ${effect};\n`;
  const place = (effect: string) => writeFileSync(policyFile('99-late.cedar'), late(effect));

  /** Runs the act, and changes the policies in the first moment in which the database is free for it. */
  async function overtaken(act: (effect: string) => Promise<unknown>, effect: string): Promise<string> {
    const { store } = gatewayOf();
    let isDue = true;
    const overtake = (work: (tx: Transaction) => unknown) => (tx: Transaction) => {
      if (isDue) {
        place(effect);
        // Longer than `reload_ms`.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3);
      }
      isDue = false;
      return work(tx);
    };
    const { commit, transact } = Store.prototype;
    const spies = [
      vi.spyOn(store, 'commit').mockImplementation((work) => commit.call(store, overtake(work)) as never),
      vi.spyOn(store, 'transact').mockImplementation((work) => transact.call(store, overtake(work)) as never),
    ];
    try {
      await act(effect);
      return 'ok';
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    } finally {
      for (const spy of spies) spy.mockRestore();
      expect(isDue, 'the act reached its transaction').toBe(false);
    }
  }

  const who = { by: OLGA, tenant: 'default' };
  const id = (name: string) => `acme.${name}`;
  const install = (name: string, version = '1.0.0') =>
    skills().install(samplePackage({ id: id(name), version }));
  const adopt = (name: string, version = '1.0.0') => skills().adopt({ id: id(name), version });
  const signer = (publisher: string) => ({ publisher, key: publicDocument(generateKey(NOON)) });
  const secret = (name: string) => run('setSecret', { name, value: Buffer.from('a value') });
  const createToken = () => run('createToken', { principal: 'agent:ada' }) as Promise<{ id: string }>;

  /** What is there before the act, and the act: an operation, or what the command line does by itself. */
  const ACTS: readonly (readonly [
    name: string,
    kind: string,
    prepare: () => Promise<(effect: string) => Promise<unknown>>,
  ])[] = [
    ['createToken', 'token-created', async () => createToken],
    [
      'endSession',
      'session-ended',
      async () => {
        const { store, clock } = gatewayOf();
        const source = { credential: 'token:tok_1' };
        const key = keyOf({ principal: ADA, tenant: 'default', source });
        store.transact((tx) => enterSession(tx, 'ses_1', key, { nowMs: clock.nowMs(), idleMs: 60_000 }));
        return () => run('endSession', { id: 'ses_1' });
      },
    ],
    [
      'undoCall',
      'undo-ended',
      async () => {
        const workspace = realpathSync(tempDir());
        const { dev, ino } = statSync(workspace, { bigint: true });
        const record = {
          ...{ tenant: 'default', principal: 'agent:ada', workspace, identity: `${dev}:${ino}`, born: '' },
          ...{ id: 'call_1', command: 'sh', of: null, startedMs: NOON, beside: [], isWhole: true },
          ...{ endedMs: NOON, isEndKnown: true, before: Tree.of([]), after: Tree.of([]) },
        };
        const records = new UndoRecords(join(gatewayOf().store.directory, 'undo'), 'p_1');
        records.keep(records.placeOf(record), record);
        return () => run('undoCall', { id: 'call_1' });
      },
    ],
    [
      'revokeToken',
      'token-revoked',
      async () => {
        const { id: token } = await createToken();
        return () => run('revokeToken', { id: token });
      },
    ],
    [
      'decideApproval',
      'approval-decided',
      async () => {
        const asks = 'forbid(principal, action == Action::"call", resource == Tool::"palisade.echo")';
        writeFileSync(policyFile('50-asks.cedar'), `@id("asks") ${asks} unless { context.approved };\n`);
        gatewayOf().policy.reload();
        await callTool(gatewayOf(), 'palisade.echo');
        const [asked] = skills().recordsOf('approval-asked');
        return () => run('decideApproval', { id: asked?.approval, verdict: 'approved' });
      },
    ],
    [
      'approveUpstream',
      'upstream-accepted',
      async () => {
        const { store } = gatewayOf();
        const set = setOf([]);
        const offer = { set, rule: digestBytes('a command') };
        store.transact((tx) => holdFirst(tx, 'files', offer, { reason: 'new', nowMs: NOON }));
        return () => run('approveUpstream', { name: 'files', digest: set.digest });
      },
    ],
    [
      'deleteStorage',
      'storage-deleted',
      async () => {
        const all = parsePrefix('/');
        const grants = { read: [], write: all.ok ? [all.value] : [] };
        const space = new Space(gatewayOf().store, { tenant: 'default', skill: id('stored'), grants });
        expect(await space.put('a', Buffer.from('1'))).toMatchObject({ ok: true });
        return () => run('deleteStorage', { skill: id('stored'), all: true });
      },
    ],
    [
      'publishMessage',
      'channel-published',
      async () => () => run('publishMessage', { channel: 'news', message: Buffer.from('now') }),
    ],
    ['trustKey', 'trust-changed', async () => () => run('trustKey', signer('bolt'))],
    [
      'rotateTrustedKey',
      'trust-changed',
      async () => {
        await run('trustKey', signer('cask'));
        return () => run('rotateTrustedKey', signer('cask'));
      },
    ],
    [
      'revokeTrustedKey',
      'trust-changed',
      async () => {
        const { keyId } = (await run('trustKey', signer('dune'))) as { keyId: string };
        return () => run('revokeTrustedKey', { publisher: 'dune', keyId, reason: 'lost' });
      },
    ],
    ['setSecret', 'vault-founded', async () => () => secret('first')],
    ['setSecret', 'secret-set', async () => () => secret('second')],
    [
      'removeSecret',
      'secret-removed',
      async () => {
        await secret('third');
        return () => run('removeSecret', { name: 'third' });
      },
    ],
    [
      'rotation of the vault',
      'vault-rotated',
      async () => async () => gatewayOf().vault.rotate(administrator(gatewayOf(), who)),
    ],
    ['rotateKey', 'key-rotated', async () => () => run('rotateKey')],
    [
      'replacePolicies',
      'policy-replaced',
      async () => async (effect) => {
        const { files: before } = (await run('getPolicies')) as Policies;
        // The caller even knows the files that are there then.
        const texts = Object.entries({ ...before, '99-late.cedar': late(effect) });
        const files = texts.map(([name, text]) => ({ name, text }));
        const ifDigest = filesDigestOf({ files, problems: [] });
        return run('replacePolicies', { files: before, ifDigest });
      },
    ],
    ['installSkill', 'skill-installed', async () => () => install('installed')],
    [
      'auditSkill',
      'skill-audited',
      async () => {
        await install('audited');
        return () => run('auditSkill', { id: id('audited') });
      },
    ],
    [
      'approveSkill',
      'skill-changed',
      async () => {
        await install('approved');
        return () => skills().approve(id('approved'), { acceptFindings: true });
      },
    ],
    ...(['quarantine', 'disable', 'revoke'] as const).map(
      (event) =>
        [
          `${event}Skill`,
          'skill-changed',
          async () => {
            await adopt(event);
            return () => run(`${event}Skill`, { id: id(event) });
          },
        ] as const,
    ),
    ...(['enable', 'remove'] as const).map(
      (event) =>
        [
          `${event}Skill`,
          'skill-changed',
          async () => {
            await adopt(event);
            await run('disableSkill', { id: id(event) });
            return () => run(`${event}Skill`, { id: id(event) });
          },
        ] as const,
    ),
    [
      'rollbackSkill',
      'skill-changed',
      async () => {
        await adopt('rolled');
        await adopt('rolled', '2.0.0');
        return () => run('rollbackSkill', { id: id('rolled') });
      },
    ],
  ];

  const kinds = () =>
    recordsOf(gatewayOf())
      .map(({ kind }) => kind)
      .filter((kind) => kind !== 'policy-loaded');

  test.each(ACTS)(
    '%s (%s) does nothing once a forbid is in place, and its work under a permit',
    async (name, kind, prepare) => {
      place(PERMIT);
      gatewayOf().policy.reload();
      const act = await prepare();
      const before = kinds();
      const denial = name === 'decideApproval' ? 'approval/not-allowed' : 'policy/denied';
      expect(await overtaken(act, FORBID)).toBe(denial);
      expect(kinds().slice(before.length)).toEqual(name.endsWith('Skill') ? ['skill-refused'] : []);
      place(PERMIT);
      gatewayOf().policy.reload();
      expect(await overtaken(act, PERMIT)).toBe('ok');
      expect(kinds().slice(before.length)).toContain(kind);
    },
  );

  test('is any operation that changes something for others', () => {
    // Calls are decided by the line; a server is asked again, or a call ended, at once and without a transaction; the
    // session that a credential begins is for nothing else.
    const others = ['createCall', 'cancelCall', 'refreshUpstream', 'beginSession'];
    const acts = OPERATIONS.filter(({ action, http }) => action !== 'readJournal' && http.method !== 'GET');
    const named = new Set(ACTS.map(([name]) => name));
    const missing = acts.map(({ name }) => name).filter((name) => !named.has(name) && !others.includes(name));
    expect(missing).toEqual([]);
    expect(acts.length).toBeGreaterThan(20);
  });
});

describe('policies on what is left of a budget', () => {
  test('hold for calls that race', async () => {
    const gateway = await openTestGateway({
      policies: `${PERMIT_ALL}@id("for-people") forbid(principal is Agent, action == Action::"call", resource) when { context.budgetLeft.calls <= 100 };\n`,
      toml: '[[budget]]\nname = "day"\nper = "tenant"\nwindow = "1d"\ncalls = 120\n',
    });
    const ended = await Promise.all(Array.from({ length: 150 }, () => callTool(gateway, 'palisade.echo')));
    const codes = ended.map(({ outcome }) => outcome.code);
    expect(codes.filter((code) => code === 'ok')).toHaveLength(20);
    expect(codes.filter((code) => code === 'policy/denied')).toHaveLength(130);
  });
});
