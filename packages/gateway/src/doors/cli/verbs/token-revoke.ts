import { formatPrincipal } from '../../../core/principal.ts';
import { withdrawToken } from '../../../invoke/tokens.ts';
import { tokenDocument } from '../../../operations/identity.ts';
import { withGateway } from '../skill/operate/act.ts';
import type { Invocation } from '../verb.ts';

/** Ends a token, whatever gateway process looks at it next. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  return withGateway(invocation, async (gateway, { by }) => {
    const token = await withdrawToken(gateway, by, { id: args[0] ?? '', tenant: null });
    if (print.json) print.document(tokenDocument(token, edge.clock.nowMs()));
    else print.note('revoked', 'red', `  ${token.id} of ${formatPrincipal(token.principal)}`);
    return 0;
  });
}
