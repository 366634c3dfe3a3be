import type { Wire } from '@palisade/sdk';

/* One document of every kind, as the client types it. What may be left out is left out. */

const TIME = '2026-01-31T12:00:00.000Z';
const HASH = 'a'.repeat(64);
const KEY_ID = `sha256:${HASH}`;
const CALL_ID = `call_${'0'.repeat(25)}`;

const usage = { calls: 1, wallMs: 3, cpuMs: 1, fuel: 0, outputBytes: 2, egressBytes: 0 };
const limits = { wallMs: 1, cpuMs: 1, fuel: 1, memoryBytes: 1, outputBytes: 1, egressBytes: 1 };
const envelope: Wire.SignedEnvelope = {
  ...{ payload: 'e30=', payloadType: 'application/json', signatures: [{ keyid: KEY_ID, sig: 'AA==' }] },
};

const call: Wire.CallDocument = {
  ...{ callId: CALL_ID, status: 'ok', code: 'ok', message: 'It went well.', remedy: null },
  ...{ output: { sum: 3 }, usage, receipt: envelope },
};
const facts = {
  callId: CALL_ID,
  principal: 'agent:ada',
  tool: 'math.add',
  run: null,
  session: null,
  door: 'http',
};
const running: Wire.RunningCall = { state: 'running', ...facts, startedAt: TIME };
const ended: Wire.EndedCall = {
  ...{ state: 'ended', ...facts, endedAt: TIME, status: 'ok', code: 'ok' },
  ...{ message: 'It went well.', remedy: null, usage, truncated: false },
};
const tool: Wire.ToolDocument = {
  ...{ id: 'math.add', description: 'Adds.', risk: 'low', tier: 'builtin', category: 'math' },
  ...{ capabilities: [], limits, inputSchema: { type: 'object' }, outputSchema: {} },
  artifacts: [{ name: 'a', sha256: HASH }],
};
const approval: Wire.ApprovalDocument = {
  ...{ id: 'apr_1', digest: HASH, tenant: 'default', principal: 'agent:ada', tool: 'math.add' },
  ...{ inputText: '{}', inputDigest: HASH, toolDigest: HASH, policySet: HASH, policies: ['p'] },
  ...{ risk: 'high', askedAtMs: 1, expiresAtMs: 2, state: 'pending', decidedBy: null, decidedAtMs: null },
  ...{ note: null, usedByCall: null, run: null, lasts: 'call' as const },
  askedTool: { description: '', category: '', tier: 'c', capabilities: [], inputSchema: {} },
};
const report: Wire.AuditReport = {
  ...{ format: 1, skill: 'acme.text', version: '1.0.0', artifact: HASH, verdict: 'passed', checks: 1 },
  findings: [{ id: 'a', severity: 'note', where: 'skill.toml', sentence: 'x', remedy: 'y' }],
  ...{ cases: { passed: 1, failed: 0, notRun: 0 }, palisade: '0.1.0' },
};
const skillFacts: Omit<Wire.SkillSummary, 'tools'> = {
  ...{ id: 'acme.text', version: '1.0.0', state: 'active', name: 'Text', publisher: 'acme' },
  ...{ artifact: HASH, keyId: KEY_ID, trust: 'operator', reason: null, approvedBy: ['user:eve'] },
  ...{ installedAt: TIME, installedBy: 'user:eve', changedAt: TIME, changedBy: 'gateway' },
  ...{ auditedAt: TIME, verdict: 'passed' },
};
const annotations = { readOnly: true, destructive: false, idempotent: true, openWorld: false };
const skill: Wire.SkillDocument = {
  ...{ ...skillFacts, description: 'Text.', license: null, homepage: null },
  tools: [
    {
      ...{ id: 'acme.text.upper', name: 'Upper', description: '', risk: 'low', module: 'm.wasm' },
      ...{ export: 'upper', inputSchema: {}, outputSchema: {}, annotations },
      reach: { risk: 'low', capabilities: ['log'], hosts: [] },
    },
  ],
  capabilities: [{ spelling: 'http', sentence: 'x', isReaching: true, stand: 'narrowed', granted: ['a'] }],
  quotas: { wallMs: 1, fuel: null, memoryBytes: null },
  review: { reviewers: 1, reauditDays: null },
  compat: { abi: 1, palisadeMin: null },
  grant: {
    wasm: {
      ...{ http: ['a.example', null], storage: [{ read: ['a'], write: [] }], log: true, clock: false },
      secrets: [{ name: 's', mayReveal: false, scope: 'tenant', hosts: ['a.example'] }],
      channels: [{ name: 'c', publish: true, receive: false }],
      ...{ random: false, config: { key: 'value' } },
    },
    limits: { fuel: 1 },
  },
  report,
};
const difference: Wire.SkillDifference = {
  ...{ widens: true, capabilities: { added: ['a'], removed: [] } },
  quotas: [{ name: 'fuel', before: null, after: 1 }],
  reviewers: { before: 1, after: 2 },
  tools: { added: [], removed: [], changed: [{ id: 'x', what: ['risk'] }] },
  config: { kept: { unit: 'C' }, added: ['lang'], removed: [] },
  prose: { changed: true, lines: ['+ a'] },
};
const changed = (event: Wire.ChangedSkill['event']): Wire.ChangedSkill => ({ ...skill, event });
const key: Wire.TrustedKey = {
  ...{ publisher: 'acme', keyId: KEY_ID, state: 'trusted', origin: 'operator', addedBy: 'user:eve' },
  ...{ reason: null, addedAt: TIME, expiresAt: null, retiredAt: null, revokedAt: null },
};
const policy: Wire.Policy = { id: 'p', file: 'a.cedar', effect: 'permit', text: 'permit(…);' };
const problem: Wire.PolicyProblem = {
  ...{ file: 'a.cedar', line: 1, column: 1, policy: null, message: 'x', hint: null },
};
const policies: Wire.PoliciesDocument = {
  ...{ digest: HASH, policies: [policy], problems: [problem], files: { 'a.cedar': '' }, filesDigest: HASH },
};
const record: Wire.JournalLine = {
  ...{ at: TIME, body: { a: 1 }, call: null, kind: 'ended', prev: HASH, principal: null, seq: 1 },
  ...{ tenant: null, tool: null, v: 1 },
};
const token: Wire.TokenDocument = {
  ...{ id: 'tok_1', state: 'active', principal: 'agent:ada', tenant: 'default', scopes: ['call'] },
  ...{
    label: '',
    device: 'build-7',
    channel: null,
    sessions: 0,
    createdAt: TIME,
    createdBy: 'user:eve',
    expiresAt: TIME,
  },
  ...{ revokedAt: null, revokedBy: null },
};
const session: Wire.SessionDocument = {
  ...{ id: 'ses_1', state: 'open', principal: 'agent:ada', tenant: 'default', credential: 'token:tok_1' },
  ...{ device: 'build-7', channel: null, label: null, isBegun: false, startedAt: TIME, usedAt: TIME },
  ...{ endedAt: null, endedBy: null },
};
const unlimited = {
  ...{ calls: 1, wallMs: null, cpuMs: null, fuel: null, outputBytes: null, egressBytes: null },
};

const upstreamFacts: Omit<Wire.UpstreamSummary, 'findings'> = {
  ...{ name: 'files', state: 'quarantined', reason: 'x', tier: 'c', risk: 'high', prefix: 'files.' },
  ...{ tools: 1, acceptedBy: null, acceptedAt: TIME, changedAt: TIME },
};
const definition: Wire.UpstreamDefinition = {
  ...{ id: 'files.read', name: 'read', title: null, description: '', inputSchema: {}, outputSchema: null },
  annotations: { readOnlyHint: true },
};
const upstream: Wire.UpstreamDocument = {
  ...{ ...upstreamFacts, command: ['node'], workspace: null, readOnly: [], allowHosts: ['a.example'] },
  ...{ secrets: [], env: ['HOME'], digest: HASH, offeredDigest: HASH },
  difference: {
    ...{ added: ['a'], removed: [], renamed: [{ from: 'a', to: 'b' }] },
    changed: [{ name: 'c', fields: ['title'] }],
  },
  ...{ definitions: [definition], offered: [definition] },
  findings: [{ check: 'x', severity: 'warning', where: 'y', what: 'z' }],
};

const undoFacts = {
  ...{ id: CALL_ID, undoOf: null, principal: 'agent:ada', tenant: 'default', workspace: '/w', command: 'rm' },
  ...{ startedAt: TIME, whole: true, endKnown: true, beside: [CALL_ID] },
};
const undoPlan: Wire.Replies['planUndo'] = {
  ...{ ...undoFacts, already: 0, moreSteps: 0, moreConflicts: 0, moreMissing: 0 },
  steps: [{ path: 'a', act: 'recreate', kind: 'file' }],
  conflicts: [{ path: 'b', why: 'x' }],
  missing: [{ path: 'c', why: 'x' }],
};

export const SAMPLES: Wire.Replies = {
  createCall: call,
  listCalls: { calls: [running, ended], cursor: CALL_ID },
  getCall: { ...ended, output: 'x', isOutputKept: true, receipt: null },
  getCallReceipt: envelope,
  getCallOutput: ['any', { json: null }],
  getCallLog: {
    ...{ callId: CALL_ID, tool: 'a', code: 'tier/trapped', message: 'x' },
    ...{ lines: [{ level: 'info', text: 'x' }], isCut: false, deniedMore: 0 },
    denied: [{ function: 'f', argument: null, why: 'quota', sentence: 'x', remedy: 'y', times: 1 }],
    trap: [{ function: 1, name: null }],
  },
  cancelCall: { callId: CALL_ID, cancelled: true },
  getRun: { run: 'r', calls: [running, ended], cursor: null },
  listTools: { tools: [{ id: 'a', description: '', risk: 'low', tier: 'a', inputSchema: {} }], cursor: null },
  getTool: tool,
  listApprovals: { approvals: [approval], cursor: null },
  getApproval: approval,
  decideApproval: { ...approval, state: 'approved', askedTool: null },
  listBudgets: {
    rules: [{ name: 'b', per: 'run', match: null, windowMs: null, ...unlimited }],
    accounts: [
      {
        ...{ budget: 'b', subject: 'default/r', windowStartMs: 1, resetsAtMs: null },
        units: [{ unit: 'fuel', spent: 1, reserved: 0, limit: null, left: null }],
      },
    ],
  },
  listSkills: { skills: [{ ...skillFacts, tools: 1 }], cursor: null },
  installSkill: { skill, difference, isNew: true },
  getSkill: {
    ...{ ...skill, versions: [{ version: '1.0.0', state: 'active' }] },
    ...{ keyState: 'trusted', reviewersRequired: 1 },
  },
  compareSkill: { id: 'acme.text', from: '1.0.0', to: '1.1.0', against: 'granted', ...difference },
  auditSkill: { ...report, state: 'active', reason: null },
  approveSkill: { ...skill, reviewersMissing: 0 },
  rollbackSkill: { id: 'acme.text', from: null, to: '1.0.0' },
  quarantineSkill: changed('quarantine'),
  enableSkill: changed('enable'),
  disableSkill: changed('disable'),
  revokeSkill: changed('revoke'),
  removeSkill: {
    ...changed('remove'),
    left: { storage: [{ tenant: 'acme', keys: 1, bytes: 9 }], secrets: ['api-key'] },
  },
  listStorage: {
    spaces: [{ tenant: 'acme', skill: 'acme.text', keys: 1, bytes: 9, installed: true }],
    cursor: null,
  },
  listStorageKeys: { keys: [{ key: 'notes/a', version: 1, bytes: 2 }], cursor: null },
  getStorageValue: {
    ...{ skill: 'acme.text', key: 'notes/a', version: 1, bytes: 2 },
    ...{ encoding: 'utf-8', value: 'ab', truncated: false },
  },
  deleteStorage: { skill: 'acme.text', keys: 1, bytes: 9 },
  listChannels: { channels: [{ channel: 'news', subscribers: 2 }], silent: 0 },
  publishMessage: { channel: 'news', bytes: 2, taken: 2, full: 0, silent: 0 },
  listTrustedKeys: { keys: [key] },
  trustKey: key,
  rotateTrustedKey: { added: key, retired: [KEY_ID] },
  revokeTrustedKey: { key, quarantined: ['acme.text@1.0.0'] },
  getPolicies: policies,
  replacePolicies: { ...policies, warnings: [] },
  checkPolicies: { ok: false, digest: null, problems: [problem], warnings: [problem] },
  explainCall: {
    ...{ principal: 'agent:ada', tool: 'math.add', verdict: 'ask', setDigest: HASH, decidedBy: [policy] },
    from: { device: 'build-7', channel: null, session: null },
    errors: [{ policy: null, message: 'x' }],
    capabilities: ['Network'],
    policies: [{ ...policy, matched: true, parts: [{ kind: 'when', text: 'x', state: 'differs' }] }],
    ...{ approvalWouldHelp: true, differences: ['x'], approval: { id: 'apr_1', state: 'pending' } },
  },
  testPolicies: {
    ...{ passed: 0, failed: 1 },
    cases: [
      {
        name: 'x',
        line: 1,
        passed: false,
        expected: 'allow',
        actual: 'deny',
        decidedBy: ['a'],
        message: 'x',
      },
    ],
  },
  listSecrets: {
    lockedWith: 'file',
    secrets: [{ name: 's', scope: 'global', version: 1, bytes: 1, createdAt: TIME, usedAt: null }],
  },
  setSecret: { name: 's', scope: 'global', version: 1, bytes: 1 },
  removeSecret: { name: 's', scope: 'global', removed: true },
  searchJournal: { records: [record], cursor: '1' },
  getCheckpoint: envelope,
  getRecord: { records: [{ ...record, hash: HASH }] },
  proveRecord: { checkpoint: envelope, format: 'palisade-proof-1', path: [HASH], record: '{}' },
  listUndo: { undo: [{ ...undoFacts, changes: 1, undoneBy: null }], cursor: null },
  planUndo: undoPlan,
  undoCall: { ...undoPlan, undo: 'undo_1', failed: [{ path: 'b', why: 'x' }], digest: HASH },
  listKeys: { keys: [{ keyId: KEY_ID, isCurrent: true, createdAt: TIME, retiredAt: null }] },
  rotateKey: { from: null, to: KEY_ID },
  listSessions: { sessions: [session], cursor: null },
  getSession: { ...session, accounts: [] },
  beginSession: { ...session, isBegun: true, label: 'a' },
  endSession: { ...session, state: 'ended', endedAt: TIME, endedBy: 'user:eve' },
  listTokens: { tokens: [token], cursor: null },
  createToken: { ...token, token: 'pls_1' },
  revokeToken: { ...token, state: 'revoked', revokedAt: TIME, revokedBy: 'user:eve' },
  listUpstreams: { upstreams: [{ ...upstreamFacts, findings: 0 }] },
  getUpstream: upstream,
  refreshUpstream: { name: 'files', state: 'quarantined', reason: 'x' },
  approveUpstream: { ...upstream, difference: null, offered: null },
  whoAmI: {
    ...{ principal: 'agent:ada', tenant: 'default', scopes: ['call', 'read'], credential: 'token:tok_1' },
    ...{ device: 'build-7', channel: null, approver: 'user:eve' },
  },
  getDoctor: {
    ok: false,
    findings: [{ name: 'clock', state: 'problem', detail: 'x', remedy: 'y' }],
    tiers: [{ tier: null, name: 'trial', holds: true, detail: 'x', fix: null }],
  },
};
