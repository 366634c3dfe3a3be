/**
 * Builds the modules of a skill by calls of the line: each is authorised, recorded and has a receipt. What the compiler
 * writes is read back from its own place and written into the folder here, whole or not at all.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { withSourceMap } from '@palisade/wasm';
import { CodedError } from '../../../core/coded-error.ts';
import { type Digest, digestBytes } from '../../../core/digest.ts';
import type { Outcome } from '../../../core/outcome.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { ForbiddenPlaces } from '../../../runner/forbidden.ts';
import type { ManifestBuild } from '../../../skills/manifest/manifest.ts';
import { principalOf } from '../input.ts';
import { callOf } from '../make-call.ts';
import { outputOf, printWorkspace } from '../nouns/exec.ts';
import type { Invocation } from '../verb.ts';
import { BUILD_TOOL, buildTool, layOutWorld, makeScratchFolder, type ScratchFolder } from './build-tool.ts';
import { type FoundCompiler, findCompiler, showToJail } from './find-compiler.ts';
import { readRegular, writeFolderFile } from './folder.ts';

const UNFINISHED = 'module.wasm';
/** What is behind the name of a module in that of its source map. */
const MAP = '.map';

export type ModulePair = ManifestBuild['modules'][number];

export type BuiltModule = ModulePair & {
  readonly bytes: number;
  readonly sha256: Digest;
  readonly callId: string;
  readonly wallMs: number;
  readonly findings: readonly unknown[];
};

/** Builds modules one by one, until it is closed. */
export type ModuleBuilder = {
  readonly compiler: string;
  readonly build: (pair: ModulePair) => Promise<BuiltModule>;
  readonly close: () => Promise<void>;
};

/** A compiler that ended with an error, with all that it printed. */
export class BuildFailure extends CodedError {
  readonly callId: string;
  readonly output: string;

  constructor(message: string, callId: string, output: string) {
    super('skill/build-failed', message);
    this.callId = callId;
    this.output = output.trim();
  }
}

export type BuildBench = {
  readonly invocation: Invocation;
  readonly gateway: Opened<Gateway>;
  readonly folder: string;
  readonly build: ManifestBuild;
  /** Whether modules say which lines they were made of. */
  readonly isDebug: boolean;
};

/** A builder that starts the compiler for each module. */
export function openBuilder({ invocation, gateway, folder, build, isDebug }: BuildBench): ModuleBuilder {
  const { edge, stateDir } = invocation;
  const { config } = gateway;
  const where = { folder, searchPath: config.process.searchPath };
  const shown = showToJail(findCompiler(invocation, build.language, where), folder);
  const { found } = shown;
  const scratch = scratchOr(folder, shown.remove);
  const out = `${scratch.name}/${UNFINISHED}`;
  const forbidden = new ForbiddenPlaces({ stateDir: stateDir.path, home: edge.env.home });
  const argumentsFor = (module: string) => {
    const source = build.modules.find((each) => each.module === module)?.source;
    return source === undefined ? null : compilerArguments(found, scratch, { folder, source, out, isDebug });
  };
  const tool = buildTool({ found, folder, config, clock: edge.clock, forbidden, argumentsFor });
  const line = { ...gateway, registry: gateway.registry.with([tool]) };
  const compiler = found.compiler.name;
  return {
    compiler,
    build: (pair) => buildModule(invocation, line, { folder, out, pair, compiler }),
    close: async () => {
      shown.remove();
      scratch.remove();
    },
  };
}

function scratchOr(folder: string, undo: () => void): ScratchFolder {
  try {
    return makeScratchFolder(folder);
  } catch (error) {
    undo();
    throw error;
  }
}

type Paths = {
  readonly folder: string;
  readonly source: string;
  readonly out: string;
  readonly isDebug: boolean;
};

/** The arguments of the compiler for a module; the WIT world of a component is written on the way. */
function compilerArguments(
  found: FoundCompiler,
  scratch: ScratchFolder,
  { folder, source, out, isDebug }: Paths,
) {
  const { compiler, guest, packages } = found;
  const wit = compiler.hasWorld ? layOutWorld(scratch, { folder, source, guest }) : '';
  return compiler.words({ source, out, guest, packages, wit, isDebug });
}

type BuildJob = Pick<Paths, 'folder' | 'out'> & { readonly pair: ModulePair; readonly compiler: string };

/** Builds one module by one call of the tool. */
async function buildModule(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  { folder, pair, out, compiler }: BuildJob,
): Promise<BuiltModule> {
  const principal = principalOf(invocation);
  const call = callOf(invocation, gateway, { principal, tool: BUILD_TOOL, rawInput: JSON.stringify(pair) });
  const { callId, outcome, usage } = await invoke(gateway, call, invocation.signal);
  // What a compiler leaves in the folder can be a trap for those who work there.
  if (!invocation.print.json) printWorkspace(invocation.print, outcome, false);
  requireOk(outcome, callId, `Cannot build "${pair.module}" from "${pair.source}": ${compiler}`);
  const path = join(folder, out);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined)
    throw noModule(pair, callId, printedBy(outcome));
  const bytes = withMap(readRegular(path, pair.module), `${path}${MAP}`);
  const { findings = [] } = outputOf(outcome);
  return { ...keepModule(folder, pair, bytes), callId, wallMs: usage.wallMs, findings };
}

/** The module with the source map that a compiler wrote next to it, if it did. */
function withMap(module: Uint8Array, path: string): Uint8Array {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return module;
  return withSourceMap(module, Buffer.from(readRegular(path, 'the source map')).toString('utf8'));
}

export function noModule({ module }: ModulePair, callId: string, output: string): BuildFailure {
  return new BuildFailure(`Cannot build "${module}": the compiler wrote no module`, callId, output);
}

/** Boundary: what was read is what is written, and a compiler that left a link does not choose where. */
export function keepModule(folder: string, pair: ModulePair, bytes: Uint8Array) {
  writeFolderFile(folder, pair.module, bytes);
  return { ...pair, bytes: bytes.length, sha256: digestBytes(bytes) };
}

/** A compiler that exits with an error is a failed build; a refusal of the line keeps its own message. */
function requireOk(outcome: Outcome, callId: string, what: string): void {
  if (outcome.status === 'ok') return;
  if (outcome.code !== 'tier/exited')
    throw new CodedError(outcome.code, outcome.message, { remedy: outcome.remedy });
  const { exitCode = null, signal = null } = outputOf(outcome);
  const how = signal === null ? `exited with status ${exitCode}` : `was killed by ${signal}`;
  throw new BuildFailure(`${what} ${how}, expected 0`, callId, printedBy(outcome));
}

function printedBy(outcome: Outcome): string {
  const { stdout = '', stderr = '' } = outputOf(outcome);
  return `${stdout.trim()}\n${stderr.trim()}`;
}
