import type { Config } from '../config/config.ts';
import { allowListOf, interceptedBy } from './host-lists.ts';
import { resolvePath } from './resolve-path.ts';
import { grantSecrets } from './secrets.ts';
import { DEFAULT_SETTINGS, type RunnerSettings } from './settings.ts';

export { allowListOf } from './host-lists.ts';

const EVERY_PROGRAM = '*';

/**
 * The settings that a configuration gives, as the file system is now; `cwd` is where palisade was started, null where that says
 * nothing.
 */
export function settingsOf({ process, ceilings, secrets }: Config, cwd: string | null): RunnerSettings {
  const here = cwd === null ? [] : [cwd];
  const roots = process.workspaces.length > 0 ? process.workspaces : here;
  const { wallMs, cpuMs, memoryBytes, outputBytes, fileBytes, processes, openFiles, egressBytes } = process;
  const defaults = { wallMs, cpuMs, memoryBytes, outputBytes, fileBytes, processes, openFiles, egressBytes };
  const highest = {
    ...DEFAULT_SETTINGS.ceilings,
    wallMs: ceilings.wallMs,
    cpuMs: ceilings.cpuMs,
    memoryBytes: ceilings.memoryBytes,
    outputBytes: ceilings.outputBytes,
    fileBytes: Math.max(DEFAULT_SETTINGS.ceilings.fileBytes, fileBytes),
    processes: Math.max(DEFAULT_SETTINGS.ceilings.processes, processes),
    openFiles: Math.max(DEFAULT_SETTINGS.ceilings.openFiles, openFiles),
    egressBytes: ceilings.egressBytes,
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
      egressBytes: Math.min(egressBytes, highest.egressBytes),
    },
    ceilings: highest,
    egressHosts: allowListOf(process.egressHosts),
    isIntercepted: interceptedBy(process.egressIntercept),
    secrets: grantSecrets(secrets),
    loosestEgress: process.egress,
  };
}

/** Boundary: links in what the operator named are followed once, now; what a run makes of them later moves nothing. */
function settle(path: string): string {
  return resolvePath(path, '/').path;
}
