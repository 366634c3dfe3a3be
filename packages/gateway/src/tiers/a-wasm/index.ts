import { availableParallelism } from 'node:os';
import { FORMAT_VERSION, METER_VERSION } from '@palisade/wasm';
import type { Channels } from '../../channels/channels.ts';
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock, Random } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import { parsePrefix, type StoragePrefix } from '../../core/storage-key.ts';
import type { SecretGrant, StorageGrant } from '../../core/wasm.ts';
import type { FetchTerms } from '../../egress/fetch/outcome.ts';
import { type Lookup, nodeCertificates, type Own, ownOf } from '../../egress/resolve.ts';
import { spend } from '../../policy/authorize.ts';
import { Space } from '../../storage/space.ts';
import { FileShelf } from '../../store/file-shelf.ts';
import type { Store } from '../../store/store.ts';
import type { Commands } from '../process/open.ts';
import type { HeldRun } from '../process/proof.ts';
import type { Scratch, Scratches } from '../process/scratch.ts';
import type { Tier } from '../tier.ts';
import { ABI_FUNCTIONS } from './engine/abi.table.ts';
import { WORLD_FUNCTIONS } from './engine/world.ts';
import { EnginePool } from './engine-pool.ts';
import type { EngineEnds } from './engine-process.ts';
import { newGuestLog } from './guest-log.ts';
import type { OperatorSecrets } from './host-http.ts';
import { Forms, ModuleCache, ReadyModules } from './modules.ts';
import { ENGINE_FILE, engineTerms, LOG_BYTES } from './plan.ts';
import { WasmRun } from './run.ts';

/**
 * Tier A: a module of WebAssembly in an engine process that holds no authority. The guest computes under fuel and
 * memory limits; the gateway acts for it outside, under the grants of its tool. The time of a call includes reading its
 * module, the wait for an engine and every answer; when it is up, the engine is ended and replaced.
 */

export type WasmTierOptions = {
  readonly pool: EnginePool;
  readonly ready: ReadyModules;
  readonly clock: Clock;
  readonly random: Random;
  readonly newLookup: () => Lookup;
  readonly own: () => Own;
  /** The certificate authorities for verifying targets; by default those that Node trusts. */
  readonly trust?: FetchTerms['trust'];
  readonly channels: Channels;
  readonly openSpace: (identity: CallIdentity, grant: StorageGrant) => Space;
  readonly secret: (
    granted: Pick<SecretGrant, 'name' | 'scope'>,
    identity: CallIdentity,
  ) => Promise<string | null>;
  readonly operatorSecrets: OperatorSecrets;
};

export type CallIdentity = {
  readonly tenant: string;
  readonly principal: CheckedCall['call']['principal'];
  readonly skill: string;
  /** Its channels reach no other skill. */
  readonly isAlone: boolean;
  readonly call: string;
  readonly tool: string;
};

export function wasmTier(options: WasmTierOptions): Tier {
  const modules = new ModuleCache();
  return {
    run: async (grant, limits, context) => {
      const checked = spend(grant);
      const { executor } = checked.tool;
      if (executor.kind !== 'wasm') throw new TypeError(`Cannot run ${checked.tool.id}: it is not a module`);
      const log = newGuestLog(context.onOutput, LOG_BYTES);
      const job = { checked, program: executor.program, limits, log };
      return new WasmRun({ ...options, modules }, job).run(context);
    },
  };
}

/** Opens tier A: engine processes in the sandboxes of commands, and what guests can reach through the gateway. */

type OpenWasmOptions = Pick<
  WasmTierOptions,
  'clock' | 'random' | 'newLookup' | 'secret' | 'operatorSecrets' | 'channels'
> & {
  readonly store: Store;
  readonly commands: Pick<Commands, 'tiers'>;
  /** Additional certificate authorities for verifying targets. */
  readonly trustedCertificates: string;
  /** The path of Node, and the possible paths of the engine in order of preference. */
  readonly node: string;
  readonly engines: readonly string[];
  /** The most memory that one call can have. */
  readonly memoryBytes: number;
  readonly limits: { readonly tableElements: number; readonly instances: number };
  readonly scratches: Scratches;
  readonly formsDir: string;
  readonly ports: readonly number[];
};

type OpenedWasm = {
  readonly tier: Tier;
  readonly pool: EnginePool;
  readonly ready: ReadyModules;
  readonly close: () => Promise<void>;
};

/** Engines that even a small machine may have, at 30 to 50 MB each: tenants that have one do not wait for a start. */
const FEWEST_KEPT = 24;
/** Engines beyond those that compute at the same time are started only while this much memory is free. */
const MEMORY_LEFT_BYTES = 1024 * 1024 * 1024;

/** The longest file is that of a component that includes a language runtime, some twenty megabytes. */
const FORM_FILES = { mostBytes: 1024 * 1024 * 1024, tag: String(process.pid) };

export function openWasm(options: OpenWasmOptions): OpenedWasm {
  const { clock, random, store, newLookup, commands, secret, scratches, trustedCertificates } = options;
  const { tableElements, instances } = options.limits;
  const size = Math.min(instances, Math.max(2, availableParallelism()));
  let engines = 0;
  let node: Scratch | null = null;
  const pool = new EnginePool({
    ...{ size, clock, most: Math.min(instances, Math.max(FEWEST_KEPT, 4 * size)) },
    hasMemory: () => process.availableMemory() >= MEMORY_LEFT_BYTES,
    start: async () => {
      engines += 1;
      const id = `engine-${engines}`;
      node ??= scratches.program(options.node);
      return startEngine({
        node: node.path,
        memoryBytes: options.memoryBytes,
        tableElements,
        makeWorkspace: () => scratches.file(ENGINE_FILE, options.engines),
        hold: (tier, terms) => commands.tiers[tier].hold(`${id}-${tier}`, terms),
      });
    },
  });
  const shelf = new FileShelf(options.formsDir, { ...FORM_FILES, nowMs: clock.nowMs });
  const ready = new ReadyModules(pool, new Forms(shelf, formTerms(tableElements)));
  const tier = wasmTier({
    ...{
      pool,
      ready,
      clock,
      random,
      newLookup,
      channels: options.channels,
      secret,
      operatorSecrets: options.operatorSecrets,
    },
    ...(trustedCertificates === '' ? {} : { trust: [nodeCertificates(), trustedCertificates] }),
    own: () => ownOf(undefined, options.ports),
    openSpace: ({ tenant, skill }, { read, write }) =>
      new Space(store, { tenant, skill, grants: { read: prefixes(read), write: prefixes(write) } }),
  });
  const close = async () => {
    await pool.close();
    node?.remove();
  };
  return { tier, pool, ready, close };
}

/** Everything beside the module that a form depends on; the engines run the same Node as this process. */
function formTerms(tableElements: number): string {
  const prices = ABI_FUNCTIONS.map(({ name, fuel }) => [name, fuel]);
  const world = WORLD_FUNCTIONS.map(({ interface: from, name, abi }) => [from, name, abi]);
  return JSON.stringify([METER_VERSION, FORMAT_VERSION, process.versions.v8, prices, world, tableElements]);
}

/** Boundary: an invalid prefix grants nothing. */
function prefixes(raw: readonly string[]): readonly StoragePrefix[] {
  return raw.flatMap((each) => {
    const parsed = parsePrefix(each);
    return parsed.ok ? [parsed.value] : [];
  });
}

/** Starts engine processes: in the jail of tier C where the machine supports it, else under the limits of tier B. */

type StartEngineOptions = {
  readonly node: string;
  readonly memoryBytes: number;
  readonly tableElements: number;
  /** A new directory that contains the engine's file; it is removed when the engine has ended. */
  readonly makeWorkspace: () => { readonly path: string; readonly remove: () => void };
  /** Starts a long-running command in a tier, or refuses with what the tier lacks. */
  readonly hold: (tier: 'b' | 'c', terms: ReturnType<typeof engineTerms>) => Promise<HeldRun>;
};

export async function startEngine(options: StartEngineOptions): Promise<EngineEnds> {
  const { node, memoryBytes, tableElements, makeWorkspace, hold } = options;
  const workspace = makeWorkspace();
  const terms = engineTerms({ node, workspace: workspace.path, memoryBytes, tableElements });
  try {
    const held = await hold('c', terms).catch((error: unknown) => {
      // Boundary: only where tier C is unavailable; a single failure does not justify the weaker tier.
      if (!(error instanceof CodedError) || error.code !== 'tier/unenforceable') throw error;
      return hold('b', terms);
    });
    void held.ended.then(workspace.remove);
    return held;
  } catch (error) {
    workspace.remove();
    throw error;
  }
}
