/** Whether a request may be sent again: always, with the key that its call has, or never. */
export type Repeat = 'safe' | 'keyed' | 'never';

export type Operation = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: `/${string}`;
  readonly repeat: Repeat;
  /** It answers only when test cases of a skill have run, which takes longer than most requests may. */
  readonly isSlow?: true;
};

/** A look at something. */
function get<const Path extends Operation['path']>(path: Path) {
  return { method: 'GET', path, repeat: 'safe' } as const;
}

/** A change: it is asked for once, and whether it was made is told or has to be looked up. */
function post<const Path extends Operation['path']>(path: Path) {
  return { method: 'POST', path, repeat: 'never' } as const;
}

/** A question that has a body, or an act that is the same once and twice. */
function ask<const Path extends Operation['path']>(path: Path) {
  return { method: 'POST', path, repeat: 'safe' } as const;
}

function put<const Path extends Operation['path']>(path: Path) {
  return { method: 'PUT', path, repeat: 'never' } as const;
}

function remove<const Path extends Operation['path']>(path: Path) {
  return { method: 'DELETE', path, repeat: 'never' } as const;
}

/** Every operation of a gateway under its name in the OpenAPI document. */
export const OPERATIONS = {
  createCall: { ...post('/v1/calls'), repeat: 'keyed' },
  listCalls: get('/v1/calls'),
  getCall: get('/v1/calls/{id}'),
  getCallReceipt: get('/v1/calls/{id}/receipt'),
  getCallOutput: get('/v1/calls/{id}/output'),
  cancelCall: ask('/v1/calls/{id}/cancel'),
  getRun: get('/v1/runs/{id}'),
  listTools: get('/v1/tools'),
  getTool: get('/v1/tools/{id}'),
  listApprovals: get('/v1/approvals'),
  getApproval: get('/v1/approvals/{id}'),
  decideApproval: post('/v1/approvals/{id}/decision'),
  listBudgets: get('/v1/budgets'),
  listSkills: get('/v1/skills'),
  installSkill: { ...post('/v1/skills'), isSlow: true },
  getSkill: get('/v1/skills/{id}'),
  getSkillPackage: get('/v1/skills/{id}/package'),
  compareSkill: get('/v1/skills/{id}/diff'),
  auditSkill: { ...post('/v1/skills/{id}/audit'), isSlow: true },
  approveSkill: post('/v1/skills/{id}/approve'),
  rollbackSkill: post('/v1/skills/{id}/rollback'),
  quarantineSkill: post('/v1/skills/{id}/quarantine'),
  enableSkill: post('/v1/skills/{id}/enable'),
  disableSkill: post('/v1/skills/{id}/disable'),
  revokeSkill: post('/v1/skills/{id}/revoke'),
  removeSkill: remove('/v1/skills/{id}'),
  listTrustedKeys: get('/v1/trust'),
  trustKey: post('/v1/trust'),
  rotateTrustedKey: post('/v1/trust/{publisher}/rotate'),
  revokeTrustedKey: post('/v1/trust/{publisher}/revoke'),
  getPolicies: get('/v1/policies'),
  replacePolicies: put('/v1/policies'),
  checkPolicies: ask('/v1/policies/check'),
  explainCall: ask('/v1/policies/explain'),
  listSecrets: get('/v1/secrets'),
  setSecret: put('/v1/secrets/{name}'),
  removeSecret: remove('/v1/secrets/{name}'),
  searchJournal: get('/v1/journal'),
  followJournal: get('/v1/journal/live'),
  exportJournal: get('/v1/journal/export'),
  getCheckpoint: get('/v1/journal/checkpoint'),
  getRecord: get('/v1/journal/{seq}'),
  proveRecord: get('/v1/journal/{seq}/proof'),
  listKeys: get('/v1/keys'),
  exportKeys: get('/v1/keys/export'),
  rotateKey: post('/v1/keys/rotate'),
  listTokens: get('/v1/tokens'),
  createToken: post('/v1/tokens'),
  revokeToken: remove('/v1/tokens/{id}'),
  listUpstreams: get('/v1/upstreams'),
  getUpstream: get('/v1/upstreams/{name}'),
  approveUpstream: post('/v1/upstreams/{name}/approve'),
  whoAmI: get('/v1/whoami'),
  getDoctor: get('/v1/doctor'),
  getHealth: get('/healthz'),
  getReadiness: get('/readyz'),
} as const satisfies Readonly<Record<string, Operation>>;

export type OperationName = keyof typeof OPERATIONS;
