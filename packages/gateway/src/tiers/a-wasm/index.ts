/**
 * Tier A: a module of WebAssembly in an engine process that holds no authority. The guest computes under fuel and memory
 * limits; what it wants done outside of itself the gateway does for it, under the grants of its tool. The time of a call
 * includes reading its module, the wait for an engine and every answer; when it is over, the engine is ended and another
 * one takes its place.
 */
import type { Channels } from '../../channels/channels.ts';
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock, Random } from '../../core/clock.ts';
import type { SecretGrant, StorageGrant } from '../../core/wasm.ts';
import type { FetchTerms } from '../../egress/fetch/outcome.ts';
import type { Lookup, Own } from '../../egress/resolve.ts';
import { spend } from '../../policy/grant.ts';
import type { Space } from '../../storage/space.ts';
import type { Tier } from '../tier.ts';
import type { EnginePool } from './engine-pool.ts';
import type { OperatorSecrets } from './host-http.ts';
import { ModuleCache, type ReadyModules } from './modules.ts';
import { LOG_BYTES } from './plan.ts';
import { newGuestLog, WasmRun } from './run.ts';

export type WasmTierOptions = {
  readonly pool: EnginePool;
  readonly ready: ReadyModules;
  readonly clock: Clock;
  readonly random: Random;
  /** The lookup of one call. */
  readonly newLookup: () => Lookup;
  readonly own: () => Own;
  /** The authorities that targets are verified with; without, those that Node trusts. */
  readonly trust?: FetchTerms['trust'];
  readonly channels: Channels;
  /** The space of a tenant's skill, below these prefixes. */
  readonly openSpace: (identity: CallIdentity, grant: StorageGrant) => Space;
  /** The value of a secret that was granted; null where the call has no such secret. */
  readonly secret: (
    granted: Pick<SecretGrant, 'name' | 'scope'>,
    identity: CallIdentity,
  ) => Promise<string | null>;
  readonly operatorSecrets: OperatorSecrets;
};

/** Whose call it is. */
export type CallIdentity = {
  readonly tenant: string;
  readonly principal: CheckedCall['call']['principal'];
  readonly skill: string;
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
