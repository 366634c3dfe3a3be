import { digestBytes } from '../core/digest.ts';
import { DEFAULT_LIMITS } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import type { PreparedProcess } from '../core/process.ts';
import type { Tool } from '../core/tool.ts';
import { SKILL_CATEGORY, type SkillStanding } from './skill-act.ts';

/* Who and what the questions of a trial are about. Nothing here is real, and nothing here decides. */

export const TENANT = 'trial';
export const PRINCIPALS: readonly Principal[] = [
  { kind: 'agent', name: 'trial' },
  { kind: 'user', name: 'trial' },
  { kind: 'service', name: 'trial' },
];
export const USER: Principal = { kind: 'user', name: 'trial' };
export const SERVICE: Principal = { kind: 'service', name: 'trial' };
export const FACTS = { tenant: TENANT, nowMs: 0 };
export const SKILL = { id: 'trial', publisher: 'trial', version: '0.0.0', trust: 'operator' } as const;
export const NEW_SKILL: SkillStanding = {
  state: 'new',
  capabilities: [],
  hosts: [],
  hasWildcards: false,
  verdict: 'none',
  findings: [],
  installedBy: null,
};
export const OLD_SKILL: SkillStanding = {
  state: 'quarantined',
  capabilities: ['http'],
  hosts: ['trial.example'],
  hasWildcards: true,
  verdict: 'failed',
  findings: ['trial'],
  installedBy: 'user:trial-installer',
};

/** Stands for the tools of skills, which come and go. */
export const SKILL_TOOL: Tool = {
  id: 'trial.trial.trial',
  description: '',
  category: SKILL_CATEGORY,
  risk: 'low',
  inputSchema: {},
  outputSchema: {},
  capabilities: ['http'],
  tier: 'a',
  limits: DEFAULT_LIMITS,
  hosts: () => [],
  paths: () => [],
  artifacts: [],
  executor: { kind: 'builtin', run: async () => null },
  skill: SKILL,
};

export const SAMPLE_PROCESS: PreparedProcess = {
  terms: {
    executable: '/usr/bin/trial',
    executableSha256: digestBytes('trial'),
    argv: ['trial', '--trial'],
    workspace: '/trial',
    cwd: '/trial',
    env: {},
    stdin: null,
    limits: {
      wallMs: 1,
      cpuMs: 1,
      memoryBytes: 1,
      outputBytes: 1,
      fileBytes: 1,
      processes: 1,
      openFiles: 1,
      egressBytes: 1,
    },
    egress: 'strict',
    egressHosts: ['trial.example'],
    secrets: ['trial'],
    readOnly: [],
    protectedPaths: [],
  },
  facts: { kind: 'plain', tier: 'c', paths: ['trial'], hosts: ['trial.example'] },
  stillHolds: () => null,
};
