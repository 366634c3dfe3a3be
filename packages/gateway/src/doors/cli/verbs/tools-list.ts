import { toolRow } from '../../../operations/tools.ts';
import { numberOf, textOf } from '../input.ts';
import type { Invocation } from '../verb.ts';

const MOST = 1_000;
const PAGE = 100;

/** The tools that may be called, of installed skills too, a page at a time. */
export async function run(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: MOST, absent: PAGE });
  const gateway = await invocation.openGateway();
  try {
    const tools = gateway.registry.page(textOf(invocation, 'after') ?? null, limit);
    const cursor = tools.length < limit ? null : (tools.at(-1)?.id ?? null);
    if (print.json) {
      print.document({ tools: tools.map(toolRow), cursor });
      return 0;
    }
    print.table(
      ['TOOL', 'RISK', 'TIER', 'WHAT IT DOES'],
      tools.map(({ id, risk, tier, description }) => [id, risk, tier, description]),
    );
    if (cursor !== null) print.line(`→ palisade tools list --after ${cursor}`);
    return 0;
  } finally {
    await gateway.close();
  }
}
