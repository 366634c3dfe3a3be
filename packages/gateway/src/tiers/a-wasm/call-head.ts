import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock, Random } from '../../core/clock.ts';
import type { Limits } from '../../core/limits.ts';
import type { WasmProgram } from '../../core/wasm.ts';
import type { CallHead } from './engine-words.ts';
import { countOf, functionsFor } from './host-calls.ts';
import { moduleKey } from './ready-modules.ts';

/** A call of a module with what it may use. */
export type WasmJob = {
  readonly checked: CheckedCall;
  readonly program: WasmProgram;
  readonly limits: Limits;
};

export const LOG_BYTES = 64 * 1024;
const SEED_BYTES = 32;

/** What an engine is told of a call, beside its module and its input. */
export function headOf({ checked, program, limits }: WasmJob, clock: Clock, random: Random): CallHead {
  const { grants, sha256, exportName } = program;
  const { fuel, memoryBytes, outputBytes } = limits;
  return {
    ...{
      key: moduleKey({ sha256, memoryBytes }),
      owner: checked.call.tenant,
      tool: exportName,
      functions: functionsFor(grants),
    },
    counts: {
      http: countOf(grants, 'http'),
      secret: countOf(grants, 'secret'),
      storage: countOf(grants, 'storage'),
      channel: countOf(grants, 'channel'),
    },
    limits: { fuel, memoryBytes, outputBytes, logBytes: LOG_BYTES },
    startedMs: clock.nowMs(),
    seed: Buffer.from(random.bytes(SEED_BYTES)).toString('hex'),
    config: grants.config ?? {},
  };
}
