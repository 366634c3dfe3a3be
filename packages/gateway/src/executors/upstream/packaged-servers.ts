import type { Config, UpstreamRule } from '../../config/config.ts';
import { packagedServer } from '../../packages/packaged-server.ts';
import { packagesIn } from '../../packages/store.ts';
import { searchFor } from '../../runner/executable.ts';
import type { Reader } from '../../store/transaction.ts';

type Place = {
  readonly config: Pick<Config, 'process'>;
  readonly store: Reader;
  readonly stateDir: string;
  /** The program that runs palisade, without links. */
  readonly node: string;
};

/** The servers that are configured, each with the command of its package where one was fetched for it. */
export function packagedServers(
  rules: readonly UpstreamRule[],
  { config, store, stateDir, node: own }: Place,
): readonly UpstreamRule[] {
  if (rules.length === 0) return rules;
  const { searchPath } = config.process;
  // A node that a jail does not show with the system is shown by itself.
  const isFound = searchFor('node', { searchPath, workspace: stateDir }) !== null;
  const node = isFound ? { command: 'node', readOnly: [] } : { command: own, readOnly: [own] };
  const directory = packagesIn(stateDir);
  return rules.map((rule) => packagedServer(rule, { reader: store, directory, node }));
}
