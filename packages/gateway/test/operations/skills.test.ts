import { describe, expect, it } from 'vitest';
import { documentOf, generateKey } from '../../src/attest/key-files.ts';
import type { Caller } from '../../src/core/caller.ts';
import { skillAt } from '../../src/skills/index/read.ts';
import { KEY, OTHER_KEY, packageOf } from '../doors/cli/skill-sample.ts';
import { callTool, GRACE, openTestGateway, PERMIT_ALL, testClock } from '../fixture/gateway.ts';
import { ask, bytesOf, callerOf, type Request, reply } from './ask.ts';

const GRACE_CALLS = callerOf(GRACE);
const AGENT = callerOf({ kind: 'agent', name: 'ada' });
const ELSEWHERE = callerOf(GRACE, undefined, 'acme');
const ID = 'acme.text';
const THIRD_KEY = generateKey(Date.UTC(2026, 2, 1));

/** A gateway that trusts the key of acme, with its rows at hand; each change is a moment after the one before. */
async function open() {
  const clock = testClock();
  const gateway = await openTestGateway({ policies: PERMIT_ALL, clock });
  const act = (name: string, request: Partial<Request> = {}) => {
    clock.add(1_000);
    return ask(gateway, name, { as: GRACE_CALLS, params: { id: ID }, ...request });
  };
  const install = (version: string, request: Partial<Request> = {}) =>
    act('installSkill', { params: {}, body: packageOf({ version, asks: '' }), ...request });
  const key = documentOf(KEY, null);
  await act('trustKey', { params: {}, body: { publisher: 'acme', key } });
  const call = async () => (await callTool(gateway, `${ID}.echo`, { input: { text: 'a' } })).outcome.code;
  const state = () => skillAt(gateway.store, ID, '1.0.0')?.state ?? null;
  return { gateway, act, install, call, state };
}

const reason = 'looked at';

describe('the life of a skill over HTTP', () => {
  it('goes from an upload to a tool that runs, and back', async () => {
    const { act, install, call } = await open();
    const installed = await install('1.0.0');
    expect(installed.status).toBe(201);
    expect(installed.body).toMatchObject({ isNew: true, difference: null, skill: { state: 'quarantined' } });
    expect((await install('1.0.0')).body).toMatchObject({ isNew: false });
    const { artifact, changedAt } = installed.body.skill;
    const approved = await act('approveSkill', {
      body: { reason, acceptFindings: true, asShown: { artifact, changedAt } },
    });
    expect(approved.body).toMatchObject({ state: 'active', reviewersMissing: 0, approvedBy: ['user:grace'] });
    expect(await call()).toBe('ok');
    expect((await act('disableSkill', { body: { reason } })).body).toMatchObject({
      ...{ event: 'disable', state: 'disabled', reason },
    });
    expect(await call()).toBe('skill/disabled');
    expect((await act('enableSkill', { body: {} })).body.state).toBe('active');
    expect((await act('auditSkill', { body: { withCases: false } })).body).toMatchObject({
      ...{ skill: ID, verdict: 'passed', state: 'active' },
    });
    expect((await act('quarantineSkill', { body: {} })).body.state).toBe('quarantined');
    expect((await act('removeSkill')).body.event).toBe('remove');
    expect((await act('getSkill')).body.code).toBe('skill/unknown');
  });

  it('compares, rolls back and revokes versions', async () => {
    const { act, install } = await open();
    await install('1.0.0');
    await act('approveSkill', { body: { reason, acceptFindings: true } });
    const second = await install('1.1.0');
    expect(second.body.difference).toMatchObject({ widens: false });
    expect((await act('compareSkill')).body).toMatchObject({
      from: '1.0.0',
      to: '1.1.0',
      against: 'granted',
    });
    await act('approveSkill', { body: { reason, acceptFindings: true } });
    expect((await act('getSkill')).body).toMatchObject({
      version: '1.1.0',
      versions: [
        { version: '1.1.0', state: 'active' },
        { version: '1.0.0', state: 'disabled' },
      ],
    });
    expect((await act('rollbackSkill', { body: {} })).body).toEqual({ id: ID, from: '1.1.0', to: '1.0.0' });
    await act('revokeSkill', { body: { reason: 'bad' } });
    const listed = await act('listSkills', { params: {}, query: { state: 'revoked' } });
    expect(listed.body.skills.map(({ version }: { version: string }) => version)).toEqual(['1.0.0', '1.1.0']);
    expect((await install('1.1.0')).body.code).toBe('skill/revoked');
  });

  it('lists page by page, and gives back the very bytes', async () => {
    const { gateway, act, install } = await open();
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) await install(version);
    const first = await act('listSkills', { params: {}, query: { limit: '2' } });
    const rest = await act('listSkills', { params: {}, query: { cursor: first.body.cursor } });
    expect([...first.body.skills, ...rest.body.skills]).toHaveLength(3);
    expect(rest.body.cursor).toBeNull();
    expect((await act('listSkills', { params: {}, query: { cursor: "x' or 1=1" } })).status).toBe(400);
    const supplied = await reply(gateway, 'getSkillPackage', {
      ...{ as: GRACE_CALLS, params: { id: ID }, query: { version: '1.1.0' } },
    });
    expect((await bytesOf(supplied)).equals(packageOf({ version: '1.1.0', asks: '' }))).toBe(true);
    expect(supplied).toMatchObject({ fileName: `${ID}-1.1.0.skill` });
  });

  it('does not approve what was changed since it was shown', async () => {
    const { act, install } = await open();
    const { artifact, changedAt } = (await install('1.0.0')).body.skill;
    for (const asShown of [
      { artifact: 'a'.repeat(64), changedAt },
      { artifact, changedAt: '2020-01-01T00:00:00.000Z' },
    ]) {
      const body = { reason, acceptFindings: true, asShown };
      expect((await act('approveSkill', { body })).body.code).toBe('skill/conflict');
    }
  });

  it.each([
    ['no package at all', Buffer.from('hello'), 'skill/invalid-package'],
    ['nothing', new Uint8Array(0), 'skill/invalid-package'],
    ['a package of a stranger', packageOf({ publisher: 'mallory' }), 'skill/untrusted'],
  ])('refuses %s', async (_, body, code) => {
    const { install, act } = await open();
    expect((await install('1.0.0', { body })).body.code).toBe(code);
    expect((await act('listSkills', { params: {} })).body.skills).toEqual([]);
  });

  it.each([
    ['an agent', AGENT, 'policy/denied'],
    ['a user of another tenant', ELSEWHERE, 'policy/denied'],
    ['a credential without the scope', callerOf(GRACE, ['read', 'admin']), 'door/insufficient-scope'],
  ])('lets %s change nothing', async (_, as, code) => {
    const { act, install, state } = await open();
    await install('1.0.0');
    await act('approveSkill', { body: { reason, acceptFindings: true } });
    const body = { reason: 'mine' };
    for (const event of ['disable', 'quarantine', 'revoke'])
      expect((await act(`${event}Skill`, { as, body })).body.code, event).toBe(code);
    expect((await act('auditSkill', { as, body: {} })).body.code).toBe(code);
    expect((await install('1.1.0', { as })).body.code).toBe(code);
    expect(state()).toBe('active');
  });
});

describe('whom to trust, over HTTP', () => {
  const params = { publisher: 'acme' };
  const other = documentOf(OTHER_KEY, null);

  async function keys(act: (name: string, request?: Partial<Request>) => ReturnType<typeof ask>) {
    return (await act('listTrustedKeys', { params: {} })).body.keys as { keyId: string; state: string }[];
  }

  it('adds, rotates and revokes keys, and what was signed with a revoked one goes out of use', async () => {
    const { act, install, state } = await open();
    await install('1.0.0');
    await act('approveSkill', { body: { reason, acceptFindings: true } });
    const [first] = await keys(act);
    const rotated = await act('rotateTrustedKey', { params, body: { key: other } });
    expect(rotated.body).toMatchObject({ added: { state: 'trusted' }, retired: [first?.keyId] });
    const revoked = await act('revokeTrustedKey', { params, body: { keyId: first?.keyId, reason: 'lost' } });
    expect(revoked.body).toMatchObject({
      key: { state: 'revoked', reason: 'lost' },
      quarantined: [`${ID}@1.0.0`],
    });
    expect(state()).toBe('quarantined');
    const added = await act('trustKey', {
      params: {},
      body: { publisher: 'example', key: documentOf(THIRD_KEY, null) },
    });
    expect(added.status).toBe(201);
    expect(await keys(act)).toHaveLength(3);
  });

  it('does not revoke the key of a publisher by a word about another', async () => {
    const { act } = await open();
    const [first] = await keys(act);
    const body = { keyId: first?.keyId, reason: 'lost' };
    const { body: told } = await act('revokeTrustedKey', { params: { publisher: 'example' }, body });
    expect(told.code).toBe('skill/untrusted');
    expect((await keys(act))[0]?.state).toBe('trusted');
  });

  it.each([
    ['no document', { key: 'hello' }, 'skill/untrusted'],
    ['a date that is past', { key: other, expiresAt: '2020-01-01T00:00:00Z' }, 'door/wrong-usage'],
    ['a member that nobody knows', { key: other, trusted: true }, 'door/wrong-usage'],
  ])('refuses %s', async (_, body, code) => {
    const { act } = await open();
    expect((await act('rotateTrustedKey', { params, body })).body.code).toBe(code);
    expect(await keys(act)).toHaveLength(1);
  });

  it.each<[string, Caller]>([
    ['an agent', AGENT],
    ['a user of another tenant', ELSEWHERE],
  ])('lets %s add none', async (_, as) => {
    const { act } = await open();
    const body = { publisher: 'mallory', key: documentOf(OTHER_KEY, null) };
    expect((await act('trustKey', { as, params: {}, body })).body.code).toBe('policy/denied');
    expect(await keys(act)).toHaveLength(1);
  });
});
