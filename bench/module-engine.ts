import { join } from 'node:path';
import { DEFAULT_SETTINGS } from '../packages/gateway/src/runner/settings.ts';
import { GuestPool } from '../packages/gateway/src/tiers/a-wasm/engine/guest-pool.ts';
import { GatewayPipe } from '../packages/gateway/src/tiers/a-wasm/engine/pipe.ts';
import type { CallHead } from '../packages/gateway/src/tiers/a-wasm/engine/protocol.ts';
import { EngineProcess } from '../packages/gateway/src/tiers/a-wasm/engine-process.ts';
import { startEngine } from '../packages/gateway/src/tiers/a-wasm/index.ts';
import type { Form } from '../packages/gateway/src/tiers/a-wasm/modules.ts';
import { ENGINE_FILE } from '../packages/gateway/src/tiers/a-wasm/plan.ts';
import { openCommands } from '../packages/gateway/src/tiers/process/open.ts';
import { Scratches } from '../packages/gateway/src/tiers/process/scratch.ts';
import { NO_NETWORKS } from '../packages/gateway/test/tiers/sample-networks.ts';

const MIB = 1024 * 1024;
/** What a module may have at most, as a gateway without a configuration gives it. */
const MOST = { memoryBytes: 64 * MIB, tableElements: 100_000 };
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
const LISTENERS = { onRequest: async () => ({ result: -1 }), onLog: () => undefined };

export const HEAD: CallHead = {
  ...{ key: 'echo', owner: 'bench', tool: 'tool', startedMs: 0, seed: '00'.repeat(32), config: {} },
  functions: [],
  counts: { http: 0, secret: 0, storage: 0, channel: 0 },
  limits: { fuel: 10_000_000, memoryBytes: 32 * MIB, outputBytes: MIB, logBytes: 0 },
};

export type BenchEngine = {
  /** Runs a call that has to end well. */
  readonly call: (key: string, form: Form, input: Uint8Array, tool?: string) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** An engine process in the jail, as the gateway starts it. */
export async function openEngine(realStateDir: string): Promise<BenchEngine> {
  const owner = { realStateDir, process: 'p_bench' };
  const commands = openCommands({
    ...{ clock, firstUid: 61_000, isGone: () => false, warm: 0, owner, networks: NO_NETWORKS },
    launchers: [join(process.cwd(), 'packages/launcher/dist/palisade-launcher')],
    limits: DEFAULT_SETTINGS.defaults,
    quarantine: join(realStateDir, 'quarantine'),
  });
  const scratches = new Scratches({ owner, isGone: () => false });
  const node = scratches.program(process.execPath);
  const built = join(process.cwd(), 'packages/gateway/dist/guests.engine.js');
  const ends = await startEngine({
    ...{ ...MOST, node: node.path },
    makeWorkspace: () => scratches.file(ENGINE_FILE, [built]),
    hold: (tier, terms) => commands.tiers[tier].hold(`bench-${tier}`, terms),
  });
  const engine = new EngineProcess(ends);
  if (!(await engine.ready)) throw new Error('Cannot measure modules: the engine did not begin');
  const call = async (key: string, form: Form, input: Uint8Array, tool = HEAD.tool) => {
    const end = await engine.run({ module: { key, form }, head: { ...HEAD, key, tool }, input }, LISTENERS);
    if (end.kind !== 'done' || end.head.ending !== 'returned')
      throw new Error(`Cannot measure: ${JSON.stringify(end)}`);
  };
  const close = async () => {
    engine.end('the bench is over');
    await ends.ended;
    await commands.close();
    node.remove();
  };
  return { call, close };
}

/** A module in the form in which engines take it. */
export async function formOf(module: Uint8Array): Promise<Form> {
  const guests = new GuestPool(new GatewayPipe(-1, -1), MOST);
  const { head, bytes } = await guests.prepare({ memoryBytes: HEAD.limits.memoryBytes }, module);
  if ('refused' in head) throw new Error(`Cannot measure: ${head.refused.message}`);
  return { ...head, bytes };
}
