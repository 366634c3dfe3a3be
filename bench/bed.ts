import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEnvironment } from '../packages/gateway/src/config/environment.ts';
import type { ToolCall } from '../packages/gateway/src/core/call.ts';
import { makeId } from '../packages/gateway/src/core/clock.ts';
import type { Gateway, Opened } from '../packages/gateway/src/invoke/gateway.ts';
import { openGateway, systemClock, systemRandom } from '../packages/gateway/src/open.ts';

/** The three default budgets, each far too large to be used up by a bench. */
export const BED_CONFIG = `
[[budget]]
name = "run"
per = "run"
calls = 100000000

[[budget]]
name = "principal-hour"
per = "principal"
window = "1h"
calls = 100000000

[[budget]]
name = "tenant-day"
per = "tenant"
window = "1d"
calls = 100000000
`;

/** A whole gateway on a new state directory: starter policies, default limits, default durability. */
export function openBed(scratch: string): Promise<Opened<Gateway>> {
  const stateDir = mkdtempSync(join(scratch, 'state-'));
  const configPath = join(stateDir, 'palisade.toml');
  writeFileSync(configPath, BED_CONFIG, { mode: 0o600 });
  return openGateway({ stateDir, configPath, env: readEnvironment({}), version: '0.0.0' });
}

/** A call of palisade.echo as an agent would make it, in a run of its own name. */
export function echoCall(): ToolCall {
  const receivedAtMs = systemClock.nowMs();
  return {
    id: makeId('call', receivedAtMs, systemRandom),
    principal: { kind: 'agent', name: 'ada' },
    tenant: 'default',
    run: 'bench',
    door: 'bench',
    tool: 'palisade.echo',
    rawInput: '{"message":"hello","count":3,"tags":["a","b"],"nested":{"deep":true}}',
    timeoutMs: null,
    source: { credential: 'process' },
    receivedAtMs,
  };
}

/** A signal that never fires. */
export function never(): AbortSignal {
  return new AbortController().signal;
}
