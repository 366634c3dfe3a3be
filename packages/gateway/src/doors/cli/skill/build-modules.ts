import { lstatSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { type Digest, digestBytes } from '../../../core/digest.ts';
import type { Json } from '../../../core/json.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { invoke } from '../../../invoke/invoke.ts';
import type { ManifestBuild } from '../../../skills/manifest/manifest.ts';
import { callOf } from '../asked-call.ts';
import { tellWorkspace } from '../exec/command-ending.ts';
import { principalOf } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { BUILD_TOOL } from './build-tool.ts';
import { readRegular } from './folder-file.ts';

/** A module that was made and is in its place. */
export type BuiltModule = {
  readonly source: string;
  readonly module: string;
  readonly bytes: number;
  readonly sha256: Digest;
  readonly callId: string;
  readonly wallMs: number;
  /** What is dangerous about what the compiler left in the folder. */
  readonly findings: readonly Json[];
};

/** What a compiler said when it failed, for whoever shows the error. */
export class BuildFailure extends CodedError {
  readonly callId: string;
  readonly output: string;

  constructor(message: string, told: { readonly callId: string; readonly output: string }) {
    super('skill/build-failed', message);
    this.callId = told.callId;
    this.output = told.output;
  }
}

export type BuildJob = {
  readonly folder: string;
  readonly pair: ManifestBuild['modules'][number];
  /** Where the compiler is told to write, in the folder of the skill. */
  readonly out: string;
  readonly compiler: string;
};

type OpenedGateway = Awaited<ReturnType<Invocation['openGateway']>>;

/** Builds one module by one call of the tool, and moves it into its place when it is whole. */
export async function buildModule(
  invocation: Invocation,
  gateway: OpenedGateway,
  { folder, pair, out, compiler }: BuildJob,
): Promise<BuiltModule> {
  const call = callOf(invocation.edge, {
    principal: principalOf(invocation),
    tenant: gateway.config.gateway.tenant,
    tool: BUILD_TOOL,
    rawInput: JSON.stringify(pair),
  });
  const { callId, outcome, usage } = await invoke(gateway, call, invocation.signal);
  // What a compiler left beside its module can be a trap for whoever works in the folder.
  if (!invocation.print.json) tellWorkspace(invocation.print, outcome, false);
  demandOk(outcome, callId, `Cannot build "${pair.module}" from "${pair.source}": ${compiler}`);
  const bytes = readModule(folder, out, { callId, output: saidBy(outcome), module: pair.module });
  place(folder, out, pair.module);
  const { findings = [] } = outputOf(outcome);
  const { wallMs } = usage;
  return { ...pair, bytes: bytes.length, sha256: digestBytes(bytes), callId, wallMs, findings };
}

/** A compiler that says no is a failed build; what the line itself refused or ended keeps its own words. */
function demandOk(outcome: Outcome, callId: string, what: string): void {
  if (outcome.status === 'ok') return;
  if (outcome.code !== 'tier/exited')
    throw new CodedError(outcome.code, outcome.message, { remedy: outcome.remedy });
  const { exitCode = null, signal = null } = outputOf(outcome);
  const how = signal === null ? `ended with the status ${exitCode}` : `was ended by ${signal}`;
  throw new BuildFailure(`${what} ${how}, expected 0`, { callId, output: saidBy(outcome) });
}

function readModule(
  folder: string,
  out: string,
  told: { readonly callId: string; readonly output: string; readonly module: string },
): Uint8Array {
  const path = join(folder, out);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined)
    throw new BuildFailure(
      `Cannot build "${told.module}": the compiler wrote nothing, expected a module`,
      told,
    );
  return readRegular(path, told.module);
}

/** Boundary: a compiler that left a link where a folder was does not choose where we write. */
function place(folder: string, out: string, module: string): void {
  const target = join(folder, module);
  const parts = module.split('/').slice(0, -1);
  for (const [at] of parts.entries()) {
    const above = join(folder, ...parts.slice(0, at + 1));
    const stats = lstatSync(above, { throwIfNoEntry: false });
    if (stats === undefined) mkdirSync(above);
    else if (!stats.isDirectory())
      throw new CodedError(
        'skill/build-failed',
        `Cannot write "${module}": "${dirname(module)}" is no folder, expected one`,
      );
  }
  const old = lstatSync(target, { throwIfNoEntry: false });
  if (old !== undefined && !old.isFile())
    throw new CodedError(
      'skill/build-failed',
      `Cannot write "${module}": it is no file, expected one or none`,
    );
  renameSync(join(folder, out), target);
}

type Said = {
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly findings?: readonly Json[];
};

function outputOf(outcome: Outcome): Said {
  if (outcome.status === 'refused' || typeof outcome.output !== 'object' || outcome.output === null)
    return {};
  return outcome.output as Said;
}

function saidBy(outcome: Outcome): string {
  const { stdout = '', stderr = '' } = outputOf(outcome);
  return [stdout, stderr]
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .join('\n');
}
