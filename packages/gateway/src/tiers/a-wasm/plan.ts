/** From a grant to how an engine is started and the call it gets: pure. */
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock, Random } from '../../core/clock.ts';
import type { Digest } from '../../core/digest.ts';
import type { Limits } from '../../core/limits.ts';
import type { ProcessTerms } from '../../core/process.ts';
import {
  CAPABILITY_KINDS,
  type CapabilityKind,
  countOf,
  hasGrant,
  type WasmGrants,
  type WasmProgram,
} from '../../core/wasm.ts';
import { ABI_FUNCTIONS, type AbiName } from './engine/abi.table.ts';
import type { CallHead } from './engine/protocol.ts';
import { moduleKey } from './modules.ts';

/** The engine's file in its own, otherwise empty workspace. */
export const ENGINE_FILE = 'guests.engine.mjs';
export const LOG_BYTES = 64 * 1024;

const MIB = 1024 * 1024;
/** Longer than any call: an engine that is older than an hour gets no further calls. */
const DAY_MS = 86_400_000;
/** What Node itself needs, beside the memory of guests. */
const NODE_BYTES = 512 * MIB;
/** Not checked: the gateway starts it, and no caller can name it. */
const OWN_FILE = `sha256:${'0'.repeat(64)}` as Digest;
const SEED_BYTES = 32;

export type EngineOptions = {
  readonly node: string;
  /** A directory of its own that contains the engine's file and nothing else. */
  readonly workspace: string;
  readonly memoryBytes: number;
  readonly tableElements: number;
};

/**
 * An engine as a command: Node with one file, without a network, an environment or a writable directory. Its own time
 * limit exceeds that of any call, since each of its calls has one.
 */
export function engineTerms({ node, workspace, memoryBytes, tableElements }: EngineOptions): ProcessTerms {
  return {
    executable: node,
    executableSha256: OWN_FILE,
    files: [],
    argv: [
      ...['node', '--no-turbo-inline-js-wasm-calls', ENGINE_FILE, '3', '4'],
      ...[String(memoryBytes), String(tableElements)],
    ],
    workspace,
    cwd: workspace,
    directories: null,
    env: {},
    stdin: null,
    limits: {
      wallMs: DAY_MS,
      cpuMs: DAY_MS,
      memoryBytes: memoryBytes + NODE_BYTES,
      outputBytes: MIB,
      // The smallest value: it writes to no file.
      fileBytes: 1,
      processes: 64,
      openFiles: 256,
      egressBytes: 1,
    },
    outputOverflow: 'kill',
    egress: 'strict',
    egressHosts: [],
    secrets: [],
    readOnly: readOnlyFor(node),
    gitIdentity: null,
    ports: [],
    protectedPaths: [],
    allowedWrites: [],
  };
}

/** A Node outside of the system's directories is bound with its installation directory. */
function readOnlyFor(node: string): readonly string[] {
  if (node.startsWith('/usr/') || node.startsWith('/bin/')) return [];
  return [node.replace(/\/bin\/[^/]*$/, '')];
}

export type WasmJob = {
  readonly checked: CheckedCall;
  readonly program: WasmProgram;
  readonly limits: Limits;
};

/** What an engine receives for a call, beside the module and the input. */
export function headOf({ checked, program, limits }: WasmJob, clock: Clock, random: Random): CallHead {
  const { grants, sha256, exportName } = program;
  const { fuel, memoryBytes, outputBytes } = limits;
  return {
    key: moduleKey({ sha256, memoryBytes }),
    owner: checked.call.tenant,
    tool: exportName,
    functions: functionsFor(grants),
    counts: countsOf(grants),
    limits: { fuel, memoryBytes, outputBytes, logBytes: LOG_BYTES },
    startedMs: clock.nowMs(),
    seed: Buffer.from(random.bytes(SEED_BYTES)).toString('hex'),
    config: grants.config ?? {},
  };
}

export function functionsFor(grants: WasmGrants): readonly AbiName[] {
  return ABI_FUNCTIONS.filter(({ needs }) => needs === null || hasGrant(grants, needs)).map(
    ({ name }) => name,
  );
}

function countsOf(grants: WasmGrants): CallHead['counts'] {
  const kinds = Object.keys(CAPABILITY_KINDS) as CapabilityKind[];
  return Object.fromEntries(kinds.map((kind) => [kind, countOf(grants, kind)])) as CallHead['counts'];
}
