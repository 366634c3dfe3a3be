import { rollbackSkill } from '../../../invoke/skills/change.ts';
import { textOf, wrongUsage } from '../input.ts';
import { withGateway } from '../skill/operate/act.ts';
import { parseReference } from '../skill/operate/reference.ts';
import type { Invocation } from '../verb.ts';

/** Goes back to the version that ran before. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const { id, version } = parseReference(args[0] ?? '');
  if (version !== null)
    throw wrongUsage(
      `Cannot roll back to "${args[0]}": a version is named, expected the id alone; name one with \`skill enable\``,
    );
  return withGateway(invocation, async (gateway, acting) => {
    const { from, to } = await rollbackSkill(gateway, {
      id,
      reason: textOf(invocation, 'reason') ?? null,
      ...acting,
    });
    if (print.json) print.document({ id, from, to });
    else print.note('rolled back', 'green', `  ${id} from ${from ?? 'nothing'} to ${to}`);
    return 0;
  });
}
