import type { Config } from '../../../config/config.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Json } from '../../../core/json.ts';
import { LIMIT_CEILINGS } from '../../../core/limits.ts';
import { refuse } from '../../../core/outcome.ts';
import type { PrepareProcess, Tool } from '../../../core/tool.ts';
import { isWithin } from '../../../core/within.ts';
import { NOWHERE } from '../../../egress/allowlist.ts';
import { processTool } from '../../../registry/process-tool.ts';
import { FileDigests } from '../../../runner/file-digests.ts';
import { KnownPrograms } from '../../../runner/known-programs.ts';
import type { RunnerSettings } from '../../../runner/settings.ts';
import { settingsOf } from '../../../runner/settings-of.ts';
import type { ForbiddenPaths } from '../../../runner/workspace.ts';
import type { FoundCompiler } from './find-compiler.ts';

/*
 * The compiler as a tool of its own, for as long as one command takes. It walks the line like every other: the policies
 * judge it, it is recorded and has a receipt. Whoever calls it says which module is meant and no more: program, words,
 * folder and limits are ours, the sandbox is the jail, and there is no network.
 */

export const BUILD_TOOL = 'palisade.skill.build';

export type BuildBench = {
  readonly found: FoundCompiler;
  /** The folder of the skill, the one place that is written to. */
  readonly folder: string;
  readonly config: Config;
  readonly clock: Clock;
  readonly forbiddenPaths: ForbiddenPaths;
  /** The words of the compiler for a module; null: there is no such module. */
  readonly wordsFor: (module: string) => readonly string[] | null;
};

/** The tool that builds the modules of one skill. */
export function buildTool(bench: BuildBench): Tool {
  const { found, clock, forbiddenPaths } = bench;
  const settings = settingsFor(bench);
  const digests = new FileDigests(clock);
  const deps = { known: new KnownPrograms(settings.searchPath, digests), digests, forbiddenPaths };
  const command = processTool(
    () => settings,
    () => deps,
  );
  if (command.executor.kind !== 'process') throw new TypeError('Cannot make the tool: it is no command');
  return {
    ...command,
    id: BUILD_TOOL,
    description: `Builds a module of a skill with ${found.compiler.name}, in the folder of the skill and without a network.`,
    category: 'skill',
    inputSchema: {
      type: 'object',
      properties: {
        source: { type: 'string', maxLength: 128, description: 'The source, in the folder of the skill.' },
        module: { type: 'string', maxLength: 128, description: 'The module that is made of it.' },
      },
      required: ['source', 'module'],
      additionalProperties: false,
    },
    limits: LIMIT_CEILINGS,
    executor: { kind: 'process', prepare: prepareWith(bench, command.executor.prepare) },
  };
}

function prepareWith({ found, folder, wordsFor }: BuildBench, prepare: PrepareProcess): PrepareProcess {
  return async (input) => {
    const words = wordsFor((input as { readonly module: string }).module);
    if (words === null)
      return refuse('registry/invalid-input', 'Cannot build: skill.toml has no such module, expected one');
    const command: Json = {
      ...{ command: found.command, args: [...found.lead, ...words] },
      ...{ workspace: folder, tier: 'c', egress: 'strict', egress_hosts: [] },
    };
    return prepare(command);
  };
}

/** What the operator says of commands holds for how much one may use; where and what this one runs is said here. */
function settingsFor({ found, folder, config }: BuildBench): RunnerSettings {
  const settings = settingsOf(config, folder);
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
