import { loadConfig } from '../../../config/load.ts';
import { showConfig } from '../../../config/show.ts';
import type { Invocation } from '../verb.ts';

/** Reads palisade.toml alone: nothing of the state directory is opened. */
export async function show({ print, stateDir }: Invocation): Promise<number> {
  const settings = await showConfig(await loadConfig({ stateDir: stateDir.path }), stateDir);
  return print.result({ settings }, () =>
    print.table(
      ['KEY', 'VALUE', 'FROM', 'MEANING'],
      settings.map(({ key, value, origin, sentence }) => [key, JSON.stringify(value), origin, sentence]),
    ),
  );
}
