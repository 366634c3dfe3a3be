/** Makes tier A ready: engine processes in the sandboxes of commands, and the rooms that guests reach through the gateway. */
import { availableParallelism } from 'node:os';
import { Channels } from '../../channels/channels.ts';
import type { Clock, Random } from '../../core/clock.ts';
import type { Lookup } from '../../egress/look-up.ts';
import { ownOf } from '../../egress/system.ts';
import { parsePrefix, type StoragePrefix } from '../../storage/key.ts';
import { Space } from '../../storage/space.ts';
import type { Store } from '../../store/store.ts';
import type { Commands } from '../process/open.ts';
import type { Scratch, Scratches } from '../process/scratch.ts';
import type { Tier } from '../tier.ts';
import { EnginePool } from './engine-pool.ts';
import { ENGINE_FILE } from './engine-terms.ts';
import { type WasmTierOptions, wasmTier } from './index.ts';
import { startEngine } from './start-engine.ts';

export type OpenWasmOptions = {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  /** The lookup of one call. */
  readonly newLookup: () => Lookup;
  readonly commands: Pick<Commands, 'tiers'>;
  readonly secret: WasmTierOptions['secret'];
  /** Where Node is, and where the engine may be, the best place first. */
  readonly node: string;
  readonly engines: readonly string[];
  /** The most memory that one call can have. */
  readonly memoryBytes: number;
  readonly scratches: Scratches;
};

export type OpenedWasm = {
  readonly tier: Tier;
  readonly pool: EnginePool;
  readonly close: () => Promise<void>;
};

export function openWasm(options: OpenWasmOptions): OpenedWasm {
  const { clock, random, store, newLookup, commands, secret, scratches } = options;
  const channels = new Channels();
  let engines = 0;
  let node: Scratch | null = null;
  const pool = new EnginePool({
    size: Math.max(2, availableParallelism()),
    start: async () => {
      engines += 1;
      const id = `engine-${engines}`;
      node ??= scratches.program(options.node);
      return startEngine({
        node: node.path,
        memoryBytes: options.memoryBytes,
        makeWorkspace: () => scratches.file(ENGINE_FILE, options.engines),
        hold: (tier, terms) => commands.tiers[tier].hold(`${id}-${tier}`, terms),
      });
    },
  });
  const tier = wasmTier({
    ...{ pool, clock, random, newLookup, channels, secret },
    own: () => ownOf(undefined, []),
    openSpace: ({ tenant, skill }, { read, write }) =>
      new Space(store, { tenant, skill, grants: { read: prefixes(read), write: prefixes(write) } }),
  });
  const close = async () => {
    channels.close();
    await pool.close();
    node?.remove();
  };
  return { tier, pool, close };
}

/** Boundary: a prefix that is none grants nothing. */
function prefixes(raw: readonly string[]): readonly StoragePrefix[] {
  return raw.flatMap((each) => {
    const parsed = parsePrefix(each);
    return parsed.ok ? [parsed.prefix] : [];
  });
}
