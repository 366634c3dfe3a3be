import type { PalisadeClient } from '@palisade/sdk';

const CALL_ID = `call_${'0'.repeat(25)}`;
const HASH = 'a'.repeat(64);
const TIME = '2026-01-31T12:00:00.000Z';
const page = { limit: 7, cursor: CALL_ID };
const change = { version: '1.0.0', reason: 'because' };

type Ask = (client: PalisadeClient) => Promise<unknown> | AsyncIterable<unknown>;

/** For every operation of the table of routes: the method of the client, with all that it can be given. */
export const REQUESTS: Readonly<Record<string, Ask>> = {
  createCall: ({ calls }) =>
    calls.run(
      { tool: 'math.add', input: { a: [1, null] }, run: 'r', timeoutMs: 9 },
      { idempotencyKey: 'k', traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` },
    ),
  listCalls: ({ calls }) => calls.list({ ...page, state: 'running', run: 'r' }),
  getCall: ({ calls }) => calls.get(CALL_ID),
  getCallReceipt: ({ calls }) => calls.receipt(CALL_ID),
  getCallOutput: ({ calls }) => calls.output(CALL_ID),
  getCallLog: ({ calls }) => calls.log(CALL_ID),
  cancelCall: ({ calls }) => calls.cancel(CALL_ID),
  getRun: ({ runs }) => runs.get('nightly', page),
  listTools: ({ tools }) => tools.list(page),
  getTool: ({ tools }) => tools.get('acme.text/upper'),
  listApprovals: ({ approvals }) => approvals.list({ ...page, state: 'pending' }),
  getApproval: ({ approvals }) => approvals.get('apr_1'),
  decideApproval: ({ approvals }) => approvals.deny('apr_1', { note: 'no' }),
  listBudgets: (client) => client.budgets(),
  listSkills: ({ skills }) => skills.list({ ...page, state: 'quarantined' }),
  installSkill: ({ skills }) => skills.install(Uint8Array.of(80, 75), { allowDowngrade: true }),
  getSkill: ({ skills }) => skills.get('acme.text', { version: '1.0.0' }),
  getSkillPackage: ({ skills }) => skills.package('acme.text', { version: '1.0.0' }),
  compareSkill: ({ skills }) => skills.diff('acme.text', { from: '1.0.0', to: '1.1.0' }),
  auditSkill: ({ skills }) => skills.audit('acme.text', { version: '1.0.0', withCases: false }),
  approveSkill: ({ skills }) =>
    skills.approve('acme.text', {
      ...{ ...change, withhold: ['http'], limits: { fuel: 1 }, config: { key: 'value' } },
      ...{ acceptFindings: true, enable: false, asShown: { artifact: HASH, changedAt: TIME } },
    }),
  rollbackSkill: ({ skills }) => skills.rollback('acme.text', { reason: 'because' }),
  quarantineSkill: ({ skills }) => skills.quarantine('acme.text', change),
  enableSkill: ({ skills }) => skills.enable('acme.text', change),
  disableSkill: ({ skills }) => skills.disable('acme.text', change),
  revokeSkill: ({ skills }) => skills.revoke('acme.text', change),
  removeSkill: ({ skills }) => skills.remove('acme.text', change),
  listTrustedKeys: ({ trust }) => trust.list({ publisher: 'acme' }),
  trustKey: ({ trust }) => trust.add({ publisher: 'acme', key: '{}', expiresAt: TIME }),
  rotateTrustedKey: ({ trust }) => trust.rotate('acme', { key: '{}', expiresAt: TIME }),
  revokeTrustedKey: ({ trust }) => trust.revoke('acme', { keyId: `sha256:${HASH}`, reason: 'lost' }),
  getPolicies: ({ policies }) => policies.get(),
  replacePolicies: ({ policies }) =>
    policies.replace({ files: { 'a.cedar': '' }, ifDigest: HASH, force: true }),
  checkPolicies: ({ policies }) => policies.check({ files: { 'a.cedar': '' } }),
  explainCall: ({ policies }) =>
    policies.explain({ tool: 'math.add', input: {}, principal: 'agent:ada', run: 'r', timeoutMs: 1 }),
  testPolicies: ({ policies }) => policies.test({ cases: '[[case]]', file: 'a.toml' }),
  listSecrets: ({ secrets }) => secrets.list(),
  setSecret: ({ secrets }) => secrets.set('api-key', 'value', { scope: 'tenant:default' }),
  removeSecret: ({ secrets }) => secrets.remove('api-key', { scope: 'tenant:default' }),
  searchJournal: ({ journal }) =>
    journal.search({
      ...{ limit: 7, cursor: '9', kind: 'ended', principal: 'agent:ada', tool: 'math.add' },
      ...{ call: CALL_ID, from: TIME, to: TIME, order: 'oldest' },
    }),
  listStorage: ({ storage }) =>
    storage.list({ limit: 5, cursor: 'acme:acme.text', tenant: 'acme', skill: 'acme.text' }),
  listStorageKeys: ({ storage }) =>
    storage.keys('acme.text').list({ limit: 5, cursor: 'notes/a', prefix: 'notes/' }),
  getStorageValue: ({ storage }) => storage.value('acme.text', 'notes/a'),
  deleteStorage: ({ storage }) =>
    storage.delete('acme.text', { key: 'notes/a', prefix: 'notes/', all: true }),
  listChannels: ({ channels }) => channels.list(),
  publishMessage: ({ channels }) => channels.publish('news', 'good news'),
  listenToChannel: ({ channels }) => channels.listen('news'),
  followJournal: ({ journal }) => journal.live({ after: 3 }),
  exportJournal: ({ journal }) => journal.export({ from: 3 }),
  getCheckpoint: ({ journal }) => journal.checkpoint(),
  getRecord: ({ journal }) => journal.get(7),
  proveRecord: ({ journal }) => journal.proof(7),
  listUndo: ({ undo }) => undo.list(page),
  planUndo: ({ undo }) => undo.plan('call_1', { force: true }),
  undoCall: ({ undo }) => undo.run('call_1', { force: true }),
  listKeys: ({ keys }) => keys.list(),
  exportKeys: ({ keys }) => keys.export(),
  rotateKey: ({ keys }) => keys.rotate(),
  listSessions: ({ sessions }) => sessions.list({ ...page, state: 'open' }),
  getSession: ({ sessions }) => sessions.get('ses_1'),
  beginSession: ({ sessions }) => sessions.begin({ label: 'a' }),
  endSession: ({ sessions }) => sessions.end('ses_1'),
  listTokens: ({ tokens }) => tokens.list({ ...page, tenant: 'acme' }),
  createToken: ({ tokens }) =>
    tokens.create({
      ...{ principal: 'agent:ada', scopes: ['call', 'read'], expiresAt: TIME },
      label: 'for the night',
    }),
  revokeToken: ({ tokens }) => tokens.revoke('tok_1'),
  listUpstreams: ({ upstreams }) => upstreams.list(),
  getUpstream: ({ upstreams }) => upstreams.get('files'),
  refreshUpstream: ({ upstreams }) => upstreams.refresh('files'),
  approveUpstream: ({ upstreams }) => upstreams.approve('files', { digest: HASH }),
  whoAmI: (client) => client.whoami(),
  getDoctor: (client) => client.doctor(),
};
