import type { Config } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import { FileDigests } from './file-digests.ts';
import { KnownPrograms } from './known-programs.ts';
import type { RunnerSettings } from './settings.ts';
import { settingsOf } from './settings-of.ts';
import type { RunnerDeps } from './terms.ts';
import type { ForbiddenPaths } from './workspace.ts';

/** What commands are read with: those of callers, and those that upstream servers are started by. */
export type OpenedRunner = { readonly settings: () => RunnerSettings; readonly deps: () => RunnerDeps };

export function openRunner(
  config: Config,
  here: ForbiddenPaths & { readonly cwd: string | null },
  clock: Clock,
): OpenedRunner {
  const { cwd, ...forbiddenPaths } = here;
  const settings = settingsOf(config, cwd);
  const digests = new FileDigests(clock);
  const known = new KnownPrograms(settings.searchPath, digests);
  return { settings: () => settings, deps: () => ({ known, digests, forbiddenPaths }) };
}
