import { BUILTIN_TOOLS } from '../../../registry/builtin.table.ts';
import type { Invocation } from '../verb.ts';

export async function run({ print }: Invocation): Promise<number> {
  const tools = [...BUILTIN_TOOLS].sort((a, b) => (a.id < b.id ? -1 : 1));
  if (print.json) {
    print.document({
      tools: tools.map(({ id, description, risk, tier }) => ({ id, description, risk, tier })),
    });
  } else {
    print.table(
      ['TOOL', 'RISK', 'TIER', 'WHAT IT DOES'],
      tools.map(({ id, risk, tier, description }) => [id, risk, tier, description]),
    );
  }
  return 0;
}
