import type { Config } from '../config/config.ts';
import { CodedError } from '../core/coded-error.ts';
import { type AllowList, parseAllowList } from '../egress/allowlist.ts';
import { resolvePath } from './resolve-path.ts';
import { DEFAULT_SETTINGS, type RunnerSettings } from './settings.ts';

const EVERY_PROGRAM = '*';

/**
 * The settings that a configuration gives, as the file system is now; `cwd` is where palisade was started, null where that says
 * nothing.
 */
export function settingsOf({ process, ceilings }: Config, cwd: string | null): RunnerSettings {
  const here = cwd === null ? [] : [cwd];
  const roots = process.workspaces.length > 0 ? process.workspaces : here;
  const { wallMs, cpuMs, memoryBytes, outputBytes, fileBytes, processes, openFiles } = process;
  const defaults = { wallMs, cpuMs, memoryBytes, outputBytes, fileBytes, processes, openFiles };
  const highest = {
    ...DEFAULT_SETTINGS.ceilings,
    wallMs: ceilings.wallMs,
    cpuMs: ceilings.cpuMs,
    memoryBytes: ceilings.memoryBytes,
    outputBytes: ceilings.outputBytes,
    fileBytes: Math.max(DEFAULT_SETTINGS.ceilings.fileBytes, fileBytes),
    processes: Math.max(DEFAULT_SETTINGS.ceilings.processes, processes),
    openFiles: Math.max(DEFAULT_SETTINGS.ceilings.openFiles, openFiles),
  };
  return {
    ...DEFAULT_SETTINGS,
    workspaceRoots: roots.map(settle),
    defaultWorkspace: cwd ?? roots[0] ?? null,
    allowedExecutables: process.executables.includes(EVERY_PROGRAM) ? 'any' : process.executables,
    searchPath: process.searchPath,
    envAllow: process.env,
    readOnly: process.readOnly.map(settle),
    protectedPaths: process.protected,
    defaults: {
      ...defaults,
      // A default never passes a ceiling that the operator lowered.
      wallMs: Math.min(wallMs, highest.wallMs),
      cpuMs: Math.min(cpuMs, highest.cpuMs),
      memoryBytes: Math.min(memoryBytes, highest.memoryBytes),
      outputBytes: Math.min(outputBytes, highest.outputBytes),
    },
    ceilings: highest,
    egressHosts: allowListOf(process.egressHosts),
    loosestEgress: process.egress,
  };
}

/** Boundary: one entry that cannot be read makes the whole list useless, because what it was meant to say is not known. */
export function allowListOf(entries: readonly string[]): AllowList {
  const parsed = parseAllowList(entries);
  if (parsed.ok) return parsed.list;
  const [first] = parsed.problems;
  throw new CodedError('config/invalid', `process.egress_hosts: ${first?.why ?? 'it cannot be read'}`);
}

/** Boundary: links in what the operator named are followed once, now; what a run makes of them later moves nothing. */
function settle(path: string): string {
  return resolvePath(path, '/').path;
}
