import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock, Random } from '../../core/clock.ts';
import type { Digest } from '../../core/digest.ts';
import type { Limits } from '../../core/limits.ts';
import type { ProcessTerms } from '../../core/process.ts';
import type { WasmProgram } from '../../core/wasm.ts';
import type { CallHead } from './engine/protocol.ts';
import { countOf, functionsFor } from './host-functions.ts';
import { moduleKey } from './modules.ts';

/** The engine's file in its own empty workspace. */
export const ENGINE_FILE = 'guests.engine.mjs';

const MIB = 1024 * 1024;
/** Nothing that a call meets: the pool gives no call to an engine that is older than an hour. */
const DAY_MS = 86_400_000;
/** What Node itself takes, beside the memories of guests. */
const NODE_BYTES = 512 * MIB;
/** Not looked at: the gateway starts it, and no caller names it. */
const OWN_FILE = `sha256:${'0'.repeat(64)}` as Digest;

export type EngineWish = {
  /** Where Node is. */
  readonly node: string;
  /** A directory of its own, in which nothing is but the engine's file. */
  readonly workspace: string;
  /** The memory of guests. */
  readonly memoryBytes: number;
};

/**
 * An engine as a command: Node with one file, without a network, an environment or a place to write to. It is not
 * bounded by a time of its own that a call could meet, since each of its calls is.
 */
export function engineTerms({ node, workspace, memoryBytes }: EngineWish): ProcessTerms {
  return {
    executable: node,
    executableSha256: OWN_FILE,
    argv: ['node', '--no-turbo-inline-js-wasm-calls', ENGINE_FILE, '3', '4', String(memoryBytes)],
    ...{ workspace, cwd: workspace, env: {}, stdin: null },
    limits: {
      ...{ wallMs: DAY_MS, cpuMs: DAY_MS, memoryBytes: memoryBytes + NODE_BYTES, outputBytes: MIB },
      // The smallest there is: it writes to no file.
      ...{ fileBytes: 1, processes: 64, openFiles: 256, egressBytes: 1 },
    },
    ...{ egress: 'strict', egressHosts: [], secrets: [], readOnly: readOnlyFor(node), protectedPaths: [] },
  };
}

/** A Node that is no part of the system is shown with the directory that it was installed to. */
function readOnlyFor(node: string): readonly string[] {
  if (node.startsWith('/usr/') || node.startsWith('/bin/')) return [];
  return [node.replace(/\/bin\/[^/]*$/, '')];
}

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
