import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/runner/settings.ts';
import type { AbiName } from '../../../src/tiers/a-wasm/engine/abi.table.ts';
import { GuestPool } from '../../../src/tiers/a-wasm/engine/guest-pool.ts';
import { GatewayPipe } from '../../../src/tiers/a-wasm/engine/pipe.ts';
import type { CallHead } from '../../../src/tiers/a-wasm/engine/protocol.ts';
import { startEngine } from '../../../src/tiers/a-wasm/index.ts';
import type { Form } from '../../../src/tiers/a-wasm/modules.ts';
import { ENGINE_FILE } from '../../../src/tiers/a-wasm/plan.ts';
import { type Commands, openCommands } from '../../../src/tiers/process/open.ts';
import { Scratches } from '../../../src/tiers/process/scratch.ts';
import { clock, LAUNCHER } from '../process/machine-sample.ts';
import { NO_NETWORKS } from '../sample-networks.ts';

const BUILT = resolve(import.meta.dirname, '../../../dist/guests.engine.js');
const MIB = 1024 * 1024;

/** What starts engines on this machine, in the tier that is named. */
export function engineStart(tier: 'b' | 'c'): () => ReturnType<typeof startEngine> {
  const owner = { realStateDir: `test-${process.pid}`, process: 'p_test' };
  const commands: Commands = openCommands({
    ...{ clock, launchers: [LAUNCHER], firstUid: 61_000, isGone: () => false, warm: 0 },
    owner,
    limits: DEFAULT_SETTINGS.defaults,
    networks: NO_NETWORKS,
    quarantine: '/nowhere',
  });
  onTestFinished(() => commands.close());
  const scratches = new Scratches({ owner, isGone: () => false });
  const node = scratches.program(process.execPath);
  onTestFinished(node.remove);
  let engines = 0;
  return () => {
    engines += 1;
    return startEngine({
      node: node.path,
      memoryBytes: 64 * MIB,
      tableElements: 100_000,
      makeWorkspace: () => scratches.file(ENGINE_FILE, [BUILT]),
      hold: (_, terms) => commands.tiers[tier].hold(`engine-${engines}`, terms),
    });
  };
}

/** The form of a module, as an engine that has run nothing makes it. */
export async function formOf(module: Uint8Array): Promise<Form> {
  const { head, bytes } = await new GuestPool(new GatewayPipe(-1, -1), {
    memoryBytes: 64 * MIB,
    tableElements: 100_000,
  }).prepare({ memoryBytes: sampleHead().limits.memoryBytes }, module);
  if ('refused' in head) throw new Error(head.refused.message);
  return { ...head, bytes };
}

/** One that only fakes take. */
export const NO_FORM: Form = {
  ...{ digest: '11'.repeat(32), seal: '22'.repeat(32), isComponent: false },
  bytes: new Uint8Array(8),
};

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
