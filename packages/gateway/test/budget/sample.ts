import type { BudgetRule } from '../../src/config/config.ts';
import type { ToolCall } from '../../src/core/call.ts';
import type { CheckedCall } from '../../src/core/checked-call.ts';
import { digestBytes } from '../../src/core/digest.ts';
import { DEFAULT_LIMITS, type Limits } from '../../src/core/limits.ts';
import type { Principal } from '../../src/core/principal.ts';
import type { Tool } from '../../src/core/tool.ts';

export const NOON = Date.UTC(2026, 4, 1, 12, 0, 0);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const ADA: Principal = { kind: 'agent', name: 'ada' };

type Wishes = {
  principal?: Principal;
  tenant?: string;
  run?: string | null;
  /** Null: a call of the gateway itself. */
  session?: string | null;
  tool?: string;
  limits?: Partial<Limits>;
};

const TOOL: Tool = {
  id: 'text.count',
  description: 'Counts.',
  category: 'text',
  risk: 'low',
  inputSchema: {},
  outputSchema: {},
  capabilities: [],
  tier: 'builtin',
  limits: DEFAULT_LIMITS,
  hosts: () => [],
  paths: () => [],
  artifacts: [],
  executor: { kind: 'builtin', run: async () => null },
};

/** A call that is fine in all that a test does not name. */
export function checkedCall(wishes: Wishes = {}): CheckedCall {
  const { principal = ADA, tenant = 'default', run = 'nightly', tool = TOOL.id, limits = {} } = wishes;
  const { session = 'ses_1' } = wishes;
  const call: ToolCall = {
    id: 'call_1',
    principal,
    tenant,
    run,
    door: 'cli',
    tool,
    rawInput: '{}',
    timeoutMs: null,
    source: session === null ? null : { credential: 'process' },
    ...(session === null ? {} : { session }),
    receivedAtMs: NOON,
  };
  return {
    call,
    tool: { ...TOOL, id: tool },
    toolDigest: digestBytes(tool),
    input: {},
    inputText: '{}',
    inputDigest: digestBytes('{}'),
    tier: TOOL.tier,
    process: null,
    artifacts: TOOL.artifacts,
    limits: { ...DEFAULT_LIMITS, ...limits },
  };
}

/** A rule that limits only what a test names. */
export function rule(wishes: Partial<BudgetRule> & { name: string }): BudgetRule {
  const unlimited = {
    calls: null,
    wallMs: null,
    cpuMs: null,
    fuel: null,
    outputBytes: null,
    egressBytes: null,
  };
  return { per: 'principal', match: null, windowMs: HOUR, ...unlimited, ...wishes };
}
