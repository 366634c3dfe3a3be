import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_FILE } from '../../../../config/load.ts';
import { CodedError } from '../../../../core/coded-error.ts';
import { prepareStateDir } from '../../../../store/state-dir.ts';
import { starterConfig } from './starter-config.ts';

/** What of the state directory was there and what was made. */
export type Prepared = {
  readonly stateDir: { readonly path: string; readonly made: boolean };
  readonly config: { readonly path: string; readonly made: boolean };
  readonly policies: { readonly path: string; readonly made: boolean };
};

/** Makes the state directory and a configuration that changes nothing; what is there already stays as it is. */
export function prepare(stateDir: string): Prepared {
  const isNew = !existsSync(stateDir);
  prepareStateDir(stateDir);
  const config = join(stateDir, CONFIG_FILE);
  const policies = join(stateDir, 'policies');
  return {
    stateDir: { path: stateDir, made: isNew },
    config: { path: config, made: makeFile(config) },
    // Those are made when the gateway is opened for the first time.
    policies: { path: policies, made: !existsSync(policies) },
  };
}

function makeFile(path: string): boolean {
  try {
    // Boundary: `wx` writes over nothing, and follows no link.
    writeFileSync(path, starterConfig(), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'EEXIST') return false;
    throw new CodedError(
      'store/unwritable',
      `Cannot write "${path}": ${code}, expected a state directory to write to`,
    );
  }
}
