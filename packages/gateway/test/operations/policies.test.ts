import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { bodyOf, GRACE, openTestGateway, recordsOf, type TestGateway } from '../fixture/gateway.ts';
import { ask, callerOf } from './ask.ts';

const GRACE_CALLS = callerOf(GRACE);
const PEOPLE = '@id("people") permit (principal is User, action, resource);\n';
const SLEEPERS =
  '@id("sleepers") permit (principal is Agent, action == Action::"call", resource == Tool::"palisade.sleep");\n';

function files(stateDir: string): Readonly<Record<string, string>> {
  const folder = join(stateDir, 'policies');
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

async function seen(gateway: TestGateway) {
  return (await ask(gateway, 'getPolicies', { as: GRACE_CALLS })).body;
}

async function put(gateway: TestGateway, body: object, as = GRACE_CALLS) {
  const { filesDigest: ifDigest } = await seen(gateway);
  return ask(gateway, 'replacePolicies', { as, body: { ifDigest, ...body } });
}

describe('PUT /v1/policies', () => {
  it('replaces every policy file, decides by the new ones at once, and leaves other files alone', async () => {
    const gateway = await openTestGateway();
    writeFileSync(join(gateway.stateDir, 'policies', 'README.md'), 'mine');
    const { status, body } = await put(gateway, {
      files: { 'people.cedar': PEOPLE, 'sleep.cedar': SLEEPERS },
    });
    expect(status).toBe(200);
    expect(files(gateway.stateDir)).toEqual({
      'README.md': 'mine',
      'people.cedar': PEOPLE,
      'sleep.cedar': SLEEPERS,
    });
    expect(body.policies.map(({ id }: { id: string }) => id)).toEqual(['people', 'sleepers']);
    expect(gateway.policy.set?.digest).toBe(body.digest);
    expect(await seen(gateway)).toEqual({ ...body, warnings: undefined });
  });

  it('records who replaced what, and never the texts', async () => {
    const gateway = await openTestGateway();
    const before = (await seen(gateway)).filesDigest;
    const { body } = await put(gateway, { files: { 'people.cedar': PEOPLE } });
    const record = recordsOf(gateway).find(({ kind }) => kind === 'policy-replaced');
    expect(record).toMatchObject({ principal: 'user:grace', tenant: 'default' });
    expect(bodyOf(record)).toMatchObject({
      ...{ before, after: body.filesDigest, digest: body.digest, isForced: false },
      files: [{ name: 'people.cedar', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    });
    expect(record?.line).not.toContain('permit');
  });

  it('takes what it gave back as it is, comments and all', async () => {
    const gateway = await openTestGateway();
    const before = await seen(gateway);
    const { status, body } = await put(gateway, { files: before.files });
    expect(status).toBe(200);
    expect(body.filesDigest).toBe(before.filesDigest);
  });

  it('refuses if a file was changed meanwhile, even only a comment, and changes nothing', async () => {
    const gateway = await openTestGateway({ policies: PEOPLE });
    const { filesDigest: ifDigest } = await seen(gateway);
    const theirs = `${PEOPLE}// a word by hand\n`;
    writeFileSync(join(gateway.stateDir, 'policies', 'test.cedar'), theirs);
    const { status, body } = await ask(gateway, 'replacePolicies', {
      as: GRACE_CALLS,
      body: { files: { 'people.cedar': PEOPLE }, ifDigest },
    });
    expect([status, body.code]).toEqual([409, 'policy/changed']);
    expect(files(gateway.stateDir)).toEqual({ 'test.cedar': theirs });
    expect(recordsOf(gateway).some(({ kind }) => kind === 'policy-replaced')).toBe(false);
  });

  it('lets only one of two who saw the same files replace them', async () => {
    const gateway = await openTestGateway({ policies: PEOPLE });
    const both = await Promise.all(
      ['a.cedar', 'b.cedar'].map((name) => put(gateway, { files: { [name]: PEOPLE } })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it.each([
    ['that do not parse', { 'a.cedar': 'permit (' }, 'a.cedar'],
    [
      'about a tool that has no such input',
      {
        'a.cedar': `${PEOPLE}@id("odd") forbid (principal, action == Action::"call", resource == Tool::"palisade.sleep") when { context.input.no == 1 };`,
      },
      'a.cedar',
    ],
    ['of which two have one id', { 'a.cedar': PEOPLE, 'b.cedar': PEOPLE }, 'b.cedar'],
  ])('refuses policies %s with every problem, and changes nothing', async (_, wanted, file) => {
    const gateway = await openTestGateway({ policies: PEOPLE });
    const { status, body } = await put(gateway, { files: wanted });
    expect([status, body.code]).toEqual([422, 'policy/invalid']);
    expect(body.problems[0]).toMatchObject({ file, line: expect.any(Number) });
    expect(files(gateway.stateDir)).toEqual({ 'test.cedar': PEOPLE });
    expect(gateway.policy.problems).toEqual([]);
  });

  it('refuses policies under which the caller could not administer, unless that is meant', async () => {
    const gateway = await openTestGateway({ policies: PEOPLE });
    const locked = { files: { 'a.cedar': SLEEPERS } };
    const refused = await put(gateway, locked);
    expect([refused.status, refused.body.code]).toEqual([409, 'policy/locks-out']);
    expect(files(gateway.stateDir)).toEqual({ 'test.cedar': PEOPLE });
    const ifDigest = (await seen(gateway)).filesDigest;
    const forced = await ask(gateway, 'replacePolicies', {
      as: GRACE_CALLS,
      body: { ...locked, ifDigest, force: true },
    });
    expect(forced.status).toBe(200);
    expect(bodyOf(recordsOf(gateway).find(({ kind }) => kind === 'policy-replaced')).isForced).toBe(true);
    const after = await ask(gateway, 'getPolicies', { as: GRACE_CALLS });
    expect([after.status, after.body.code]).toEqual([403, 'policy/denied']);
  });

  it.each([
    ['an agent', callerOf({ kind: 'agent', name: 'ada' }), 'policy/denied'],
    ['a service that no policy lets administer', callerOf({ kind: 'service', name: 'ci' }), 'policy/denied'],
    ['a user of another tenant', callerOf(GRACE, undefined, 'elsewhere'), 'policy/denied'],
    ['a credential without the scope', callerOf(GRACE, ['call', 'read', 'admin']), 'door/insufficient-scope'],
  ])('refuses %s', async (_, as, code) => {
    const gateway = await openTestGateway({ policies: PEOPLE });
    const { status, body } = await put(gateway, { files: { 'a.cedar': PEOPLE } }, as);
    expect([status, body.code]).toEqual([403, code]);
    expect(files(gateway.stateDir)).toEqual({ 'test.cedar': PEOPLE });
  });

  it.each([
    ['../evil.cedar'],
    ['a/b.cedar'],
    ['.hidden.cedar'],
    ['A.cedar'],
    ['a.cedar\n'],
    ['a.txt'],
    [`${'a'.repeat(130)}.cedar`],
  ])('refuses the file name %j', async (name) => {
    const gateway = await openTestGateway({ policies: PEOPLE });
    const { status } = await put(gateway, { files: { [name]: PEOPLE } });
    expect(status).toBe(400);
    expect(files(gateway.stateDir)).toEqual({ 'test.cedar': PEOPLE });
  });

  it('refuses while a folder stands where a file should', async () => {
    const gateway = await openTestGateway({ policies: PEOPLE });
    mkdirSync(join(gateway.stateDir, 'policies', 'odd.cedar'));
    const { status, body } = await put(gateway, { files: { 'a.cedar': PEOPLE } });
    expect([status, body.code]).toEqual([422, 'policy/invalid']);
    expect(readdirSync(join(gateway.stateDir, 'policies')).sort()).toEqual(['odd.cedar', 'test.cedar']);
  });
});

describe('POST /v1/policies/check', () => {
  it('says what is wrong with policies that were sent, and uses none of them', async () => {
    const gateway = await openTestGateway({ policies: PEOPLE });
    const check = (body: object) => ask(gateway, 'checkPolicies', { as: GRACE_CALLS, body });
    const digest = gateway.policy.set?.digest;
    expect((await check({})).body).toEqual({ ok: true, digest, problems: [], warnings: [] });
    expect((await check({ files: { 'test.cedar': PEOPLE } })).body.digest).toBe(digest);
    const bad = (await check({ files: { 'a.cedar': 'permit (' } })).body;
    expect(bad).toMatchObject({ ok: false, digest: null, problems: [{ file: 'a.cedar' }] });
    expect(gateway.policy.set?.digest).toBe(digest);
  });
});

describe('POST /v1/policies/explain', () => {
  it('explains a call of anybody to who may read, and records nothing', async () => {
    const gateway = await openTestGateway();
    const before = recordsOf(gateway).length;
    const { body } = await ask(gateway, 'explainCall', {
      as: GRACE_CALLS,
      body: { tool: 'palisade.sleep', input: { ms: 60_000 }, principal: 'agent:ada' },
    });
    expect(body).toMatchObject({ principal: 'agent:ada', tool: 'palisade.sleep', verdict: 'ask' });
    expect(recordsOf(gateway)).toHaveLength(before);
  });

  it('does not explain the policies to an agent', async () => {
    const gateway = await openTestGateway();
    const as = callerOf({ kind: 'agent', name: 'ada' });
    const { status, body } = await ask(gateway, 'explainCall', {
      as,
      body: { tool: 'palisade.sleep', input: { ms: 1 } },
    });
    expect([status, body.code]).toEqual([403, 'policy/denied']);
  });

  it('finds no tool that is not there', async () => {
    const gateway = await openTestGateway();
    const { body } = await ask(gateway, 'explainCall', {
      as: GRACE_CALLS,
      body: { tool: 'no.such' },
    });
    expect(body.code).toBe('registry/unknown-tool');
  });
});

describe('POST /v1/policies/test', () => {
  const CASES = `[[case]]
name = "an agent echoes"
principal = "agent:ada"
tool = "palisade.echo"
input = { message = "hello" }
expected = "allow"

[[case]]
name = "an agent may not administer"
principal = "agent:ada"
action = "administer"
expected = "allow"
`;

  it('tells how each case ends under the policies that decide, and makes no call', async () => {
    const gateway = await openTestGateway();
    const { status, body } = await ask(gateway, 'testPolicies', { as: GRACE_CALLS, body: { cases: CASES } });
    expect([status, body.passed, body.failed]).toEqual([200, 1, 1]);
    expect(body.cases).toMatchObject([
      { name: 'an agent echoes', line: 1, passed: true, actual: 'allow', message: '' },
      { name: 'an agent may not administer', passed: false, expected: 'allow' },
    ]);
    expect(recordsOf(gateway).map(({ call }) => call)).toEqual(recordsOf(gateway).map(() => null));
  });

  it('refuses a file without a case, and a caller who may not change policies', async () => {
    const gateway = await openTestGateway();
    const test = (as: Caller, cases: string) =>
      ask(gateway, 'testPolicies', { as, body: { cases, file: 'a.toml' } });
    expect((await test(GRACE_CALLS, '')).body).toMatchObject({
      code: 'door/wrong-usage',
      detail: expect.stringContaining('"a.toml"'),
    });
    expect((await test(callerOf(GRACE, ['read']), CASES)).body.code).toBe('door/insufficient-scope');
    expect((await test(callerOf(GRACE, undefined, 'acme'), CASES)).body.code).toBe('policy/denied');
  });
});
