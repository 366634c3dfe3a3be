import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Config } from '../../../config/config.ts';
import type { Clock } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { Json } from '../../../core/json.ts';
import { LIMIT_CEILINGS } from '../../../core/limits.ts';
import { refuse } from '../../../core/outcome.ts';
import { isWithin } from '../../../core/paths.ts';
import type { PrepareProcess, Tool } from '../../../core/tool.ts';
import { NOWHERE } from '../../../egress/allowlist.ts';
import { processTool } from '../../../registry/process-tool.ts';
import { KnownPrograms } from '../../../runner/classify.ts';
import { FileDigests } from '../../../runner/executable.ts';
import type { ForbiddenPlaces } from '../../../runner/forbidden.ts';
import { type RunnerSettings, settingsOf } from '../../../runner/settings.ts';
import type { FoundCompiler } from './find-compiler.ts';
import { readFolderFile } from './folder.ts';
import { WORLD } from './templates/languages.table.ts';

/*
 * The compiler as a tool of its own, for as long as one command takes. It goes through the line like every other: it is
 * authorised, recorded and has a receipt. The caller names the module and nothing else: program, arguments, folder and
 * limits are fixed here, the sandbox is the jail, and there is no network.
 */

export const BUILD_TOOL = 'palisade.skill.build';

type BuildBench = {
  readonly found: FoundCompiler;
  /** The folder of the skill, the only one that is written to. */
  readonly folder: string;
  readonly config: Config;
  readonly clock: Clock;
  readonly forbidden: ForbiddenPlaces;
  /** The arguments of the compiler for a module; null: no such module. */
  readonly argumentsFor: (module: string) => readonly string[] | null;
};

/** The tool that builds the modules of one skill. */
export function buildTool(bench: BuildBench): Tool {
  const { found, clock, forbidden } = bench;
  const settings = settingsFor(bench);
  const digests = new FileDigests(clock);
  const deps = { known: new KnownPrograms(settings.searchPath, digests), digests, forbidden };
  const command = processTool(
    () => settings,
    () => deps,
  );
  if (command.executor.kind !== 'process') throw new TypeError('Cannot make the tool: it is not a command');
  return {
    ...command,
    id: BUILD_TOOL,
    description: `Builds a module of a skill with ${found.compiler.name}, in the folder of the skill and without a network.`,
    category: 'skill',
    inputSchema: {
      type: 'object',
      properties: {
        source: { type: 'string', maxLength: 128, description: 'The source, in the folder of the skill.' },
        module: { type: 'string', maxLength: 128, description: 'The module that is built from it.' },
      },
      required: ['source', 'module'],
      additionalProperties: false,
    },
    limits: LIMIT_CEILINGS,
    executor: { kind: 'process', prepare: prepareWith(bench, command.executor.prepare) },
  };
}

function prepareWith({ found, folder, argumentsFor }: BuildBench, prepare: PrepareProcess): PrepareProcess {
  return async (input) => {
    const args = argumentsFor((input as { readonly module: string }).module);
    if (args === null) return refuse('registry/invalid-input', 'Cannot build: skill.toml has no such module');
    const command: Json = {
      ...{ command: found.command, args: [...found.lead, ...args] },
      ...{ workspace: folder, tier: 'c', egress: 'strict', egress_hosts: [] },
    };
    return prepare(command);
  };
}

/** The settings of the operator limit what the compiler may use; what it runs, and where, is fixed here. */
function settingsFor({ found, folder, config }: BuildBench): RunnerSettings {
  const settings = settingsOf(config, null);
  const { memoryBytes, wallMs } = found.compiler;
  const most = settings.ceilings;
  const readOnly = [...settings.readOnly, ...found.readOnly].filter((path) => !isWithin(path, folder));
  return {
    ...settings,
    workspaceRoots: [folder],
    defaultWorkspace: folder,
    // Boundary: nothing but the compiler is started by this tool, whatever the manifest says.
    allowedExecutables: [found.command],
    readOnly,
    egressHosts: NOWHERE,
    secrets: new Map(),
    loosestEgress: 'strict',
    defaults: {
      ...settings.defaults,
      wallMs: Math.min(wallMs, most.wallMs),
      cpuMs: Math.min(2 * wallMs, most.cpuMs),
      memoryBytes: Math.min(memoryBytes, most.memoryBytes),
    },
  };
}

/** A temporary folder in that of the skill, where the compiler writes; removed after the build. */
export type ScratchFolder = { readonly name: string; readonly path: string; readonly remove: () => void };

const PREFIX = '.palisade-build-';

/** Makes it under a name that cannot be guessed. */
export function makeScratchFolder(folder: string): ScratchFolder {
  try {
    const path = mkdtempSync(join(folder, PREFIX));
    return { name: basename(path), path, remove: () => rmSync(path, { recursive: true, force: true }) };
  } catch (error) {
    const is = `it fails with ${(error as { code?: string }).code}, expected a writable folder`;
    const remedy = 'Use a folder that you can write to, with space left on its disk.';
    throw new CodedError('skill/build-failed', `Cannot build in "${folder}": ${is}`, { remedy });
  }
}

/** Writes the WIT world of a component for the compiler: the one next to its source, or a plain one, and the WIT of palisade. */
export function layOutWorld(
  scratch: ScratchFolder,
  { folder, source, guest }: { readonly folder: string; readonly source: string; readonly guest: string },
): string {
  const world = readFolderFile(folder, source.replace(/\.[^./]*$/, '.wit'));
  const [wit, ours] = [join(scratch.path, 'wit'), join(guest, 'wit')];
  const below = join(wit, 'deps/palisade-skill');
  mkdirSync(below, { recursive: true });
  for (const name of readdirSync(ours)) {
    // Boundary: this is read outside of the jail, so nothing in it may be a link to what the compiler must not see.
    const text = readFolderFile(guest, `wit/${name}`);
    if (text !== null) writeFileSync(join(below, name), text);
  }
  writeFileSync(join(wit, 'skill.wit'), world ?? WORLD);
  return `${scratch.name}/wit`;
}
