import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/runner/settings.ts';
import type { AbiName } from '../../../src/tiers/a-wasm/abi.table.ts';
import { ENGINE_FILE } from '../../../src/tiers/a-wasm/engine-terms.ts';
import type { CallHead } from '../../../src/tiers/a-wasm/engine-words.ts';
import { type StartEngineOptions, startEngine } from '../../../src/tiers/a-wasm/start-engine.ts';
import { type Commands, openCommands } from '../../../src/tiers/process/open.ts';
import { clock, LAUNCHER } from '../process/machine-sample.ts';
import { NO_NETWORKS } from '../sample-networks.ts';

const BUILT = resolve(import.meta.dirname, '../../../dist/guests.engine.js');
const MIB = 1024 * 1024;

/** A directory with the engine in it, as the gateway makes it. */
export function engineWorkspace(): ReturnType<StartEngineOptions['makeWorkspace']> {
  const path = mkdtempSync(join(tmpdir(), 'palisade-engine-'));
  copyFileSync(BUILT, join(path, ENGINE_FILE));
  const remove = () => rmSync(path, { recursive: true, force: true });
  onTestFinished(remove);
  return { path, remove };
}

/** What starts engines on this machine, in the tier that is named. */
export function engineStart(tier: 'b' | 'c'): () => ReturnType<typeof startEngine> {
  const commands: Commands = openCommands({
    ...{ clock, launchers: [LAUNCHER], firstUid: 61_000, isGone: () => false, warm: 0 },
    owner: { house: `test-${process.pid}`, process: 'p_test' },
    limits: DEFAULT_SETTINGS.defaults,
    networks: NO_NETWORKS,
  });
  onTestFinished(() => commands.close());
  let engines = 0;
  return () => {
    engines += 1;
    return startEngine({
      node: process.execPath,
      memoryBytes: 64 * MIB,
      makeWorkspace: engineWorkspace,
      hold: (_, terms) => commands.tiers[tier].hold(`engine-${engines}`, terms),
    });
  };
}

export function sampleHead(changes: Partial<CallHead> = {}): CallHead {
  return {
    ...{ key: 'module-1', owner: 'tenant-1', tool: 'tool', startedMs: 1_700_000_000_000 },
    functions: ['capability_count', 'capability_handle', 'result_read', 'fail'] as readonly AbiName[],
    counts: { http: 0, secret: 0, storage: 0, channel: 0 },
    limits: { fuel: 10_000_000, memoryBytes: 16 * MIB, outputBytes: MIB, logBytes: 10_000 },
    seed: '11'.repeat(32),
    config: {},
    ...changes,
  };
}
