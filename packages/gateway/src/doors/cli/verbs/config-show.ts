import { loadConfig } from '../../../config/load.ts';
import { showConfig } from '../../../config/show.ts';
import type { Invocation } from '../verb.ts';

export async function run({ print, stateDir }: Invocation): Promise<number> {
  const rows = await showConfig(await loadConfig({ stateDir: stateDir.path }), stateDir);
  if (print.json) print.document({ settings: rows });
  else
    print.table(
      ['KEY', 'VALUE', 'FROM', 'MEANING'],
      rows.map(({ key, value, origin, sentence }) => [key, JSON.stringify(value), origin, sentence]),
    );
  return 0;
}
