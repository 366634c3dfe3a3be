import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalize } from '@palisade/sdk';
import { onTestFinished } from 'vitest';
import type { CheckedCall } from '../../src/core/checked-call.ts';
import { digestBytes } from '../../src/core/digest.ts';
import type { Json } from '../../src/core/json.ts';
import { DEFAULT_LIMITS } from '../../src/core/limits.ts';
import type { Principal } from '../../src/core/principal.ts';
import type { PreparedProcess, ProcessTerms } from '../../src/core/process.ts';
import type { Tool } from '../../src/core/tool.ts';
import type { CallFacts, SkillActFacts, SkillStanding } from '../../src/policy/authorize.ts';
import { PolicyEngine, type PolicyEvent, type PolicyOptions } from '../../src/policy/engine.ts';
import { policyMigrations } from '../../src/policy/memory.ts';
import { Store } from '../../src/store/store.ts';
import { CHECKED } from '../fixture/checked.ts';

export const NOON = Date.UTC(2026, 4, 1, 12, 0, 0);
export const ADA: Principal = { kind: 'agent', name: 'ada' };
export const BOB: Principal = { kind: 'user', name: 'bob' };
export const PERMIT_ALL = '@id("all") permit(principal, action, resource);\n';

export const PLENTY = {
  calls: 1000,
  wallMs: 1e6,
  cpuMs: 1e6,
  fuel: 1e9,
  outputBytes: 1e9,
  egressBytes: 1e9,
};
export const FACTS: CallFacts = { budgetLeft: PLENTY, approval: null, nowMs: NOON };
export const APPROVED: CallFacts = { ...FACTS, approval: { id: 'apr_1', by: 'user:bob', atMs: NOON } };

/** A tool that is fine in all that a test does not name. */
export function makeTool(wishes: Partial<Tool> = {}): Tool {
  return {
    id: 'text.count',
    description: 'Counts.',
    category: 'text',
    risk: 'low',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    outputSchema: {},
    capabilities: [],
    tier: 'builtin',
    limits: DEFAULT_LIMITS,
    hosts: () => [],
    paths: () => [],
    artifacts: [],
    executor: { kind: 'builtin', run: async () => null },
    ...wishes,
  };
}

export const SLEEP = makeTool({
  id: 'palisade.sleep',
  category: 'builtin',
  inputSchema: { type: 'object', properties: { ms: { type: 'integer' } }, required: ['ms'] },
});
export const COUNT = makeTool();
export const DANGER = makeTool({ id: 'disk.format', category: 'disk', risk: 'high' });
export const TOOLS: readonly Tool[] = [SLEEP, COUNT, DANGER];

export const ACME_TEXT = {
  id: 'acme.text',
  publisher: 'acme',
  version: '1.2.0',
  trust: 'operator',
  artifact: digestBytes('acme.text'),
  grant: digestBytes('the grant of acme.text'),
} as const;
/** A tool of a skill. */
export const WORDS = makeTool({ id: 'acme.text.words', category: 'skill', tier: 'a', skill: ACME_TEXT });

/** An act upon that skill, in all that a test does not name. */
export function skillFacts(about: Partial<SkillStanding> = {}): SkillActFacts {
  const asks = { capabilities: ['http'], hosts: ['api.example.com'], hasWildcards: false };
  const standing = {
    state: 'quarantined',
    verdict: 'passed',
    findings: [],
    installedBy: 'user:grace',
  } as const;
  return { tenant: 'default', nowMs: NOON, skill: ACME_TEXT, about: { ...asks, ...standing, ...about } };
}

/** A call of a tool as the registry would have checked it. */
export function checkedCall(tool: Tool, input: Json, principal: Principal = ADA): CheckedCall {
  const inputText = canonicalize(input);
  const call = { id: 'call_1', principal, tenant: 'default', run: 'nightly', door: 'cli', tool: tool.id };
  return {
    call: { ...call, rawInput: inputText, timeoutMs: null, source: null, receivedAtMs: NOON },
    tool,
    toolDigest: digestBytes(tool.id),
    input,
    inputText,
    inputDigest: digestBytes(inputText),
    tier: tool.tier,
    process: null,
    artifacts: tool.artifacts,
    limits: DEFAULT_LIMITS,
  };
}

/** A command that was found fit, in all that a test does not name. */
export function preparedProcess(terms: Partial<ProcessTerms> = {}): PreparedProcess {
  const one = {
    wallMs: 1,
    cpuMs: 1,
    memoryBytes: 1,
    outputBytes: 1,
    fileBytes: 1,
    processes: 1,
    openFiles: 1,
    egressBytes: 1_000_000,
  };
  return {
    terms: {
      executable: '/usr/bin/git',
      executableSha256: digestBytes('git'),
      files: [],
      argv: ['git', 'status'],
      workspace: '/w',
      cwd: '/w',
      directories: null,
      env: {},
      stdin: null,
      limits: one,
      outputOverflow: 'cut',
      egress: 'strict',
      egressHosts: ['a.example'],
      secrets: ['github'],
      readOnly: [],
      gitIdentity: null,
      protectedPaths: [],
      allowedWrites: [],
      ports: [],
      ...terms,
    },
    facts: {
      kind: 'plain',
      tier: 'c',
      guard: null,
      root: '/w',
      paths: ['p'],
      pathsTruncated: false,
      hosts: ['a.example'],
    },
    stillHolds: () => null,
    pathsStillHold: () => null,
  };
}

export type Bed = {
  readonly directory: string;
  readonly events: PolicyEvent[];
  readonly store: Store;
  readonly open: (options?: Partial<PolicyOptions>) => PolicyEngine;
  readonly write: (name: string, text: string | Uint8Array) => void;
};

/** A state directory of its own with these policy files, gone with the test. Every refresh looks at the files. */
export function makeBed(files: Readonly<Record<string, string>> | null): Bed {
  const state = mkdtempSync(join(tmpdir(), 'palisade-policy-'));
  const directory = join(state, 'policies');
  const store = new Store({
    directory: state,
    migrations: policyMigrations,
    busyTimeoutMs: 10_000,
    nowMs: 0,
  });
  onTestFinished(() => {
    store.close();
    rmSync(state, { recursive: true, force: true });
  });
  const write = (name: string, text: string | Uint8Array) => writeFileSync(join(directory, name), text);
  if (files !== null) {
    mkdirSync(directory);
    for (const [name, text] of Object.entries(files)) write(name, text);
  }
  const events: PolicyEvent[] = [];
  const clock = { nowMs: () => NOON, monotonicMs: () => 0 };
  const onEvent = (event: PolicyEvent) => void events.push(event);
  const defaults = { directory, store, tools: () => TOOLS, groups: new Map(), clock, reloadMs: 0, onEvent };
  return {
    directory,
    events,
    store,
    write,
    open: (options = {}) => new PolicyEngine({ ...defaults, ...options }),
  };
}

/** An engine on one policy file. */
export function engineWith(text: string, options: Partial<PolicyOptions> = {}): PolicyEngine {
  return makeBed({ 'test.cedar': text }).open({ checked: CHECKED, ...options });
}
