import type { Scope } from '../../../core/caller.ts';
import { ALL_SCOPES } from '../../../core/caller.ts';
import { isoTime } from '../../../core/clock.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../../../core/principal.ts';
import { isScope } from '../../../identity/scopes.table.ts';
import { HOLDS_ALL, mintToken } from '../../../invoke/tokens.ts';
import { tokenDocument } from '../../../operations/identity.ts';
import { textOf, wrongUsage } from '../input.ts';
import { withGateway } from '../skill/operate/act.ts';
import { expiryOf } from '../skill/operate/expiry.ts';
import type { Invocation } from '../verb.ts';

const DEFAULT_LIFE_MS = 30 * 86_400_000;

/** Makes a token and shows it, this once: on standard output alone, so that it can be piped to where it is kept. */
export async function run(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  const nowMs = edge.clock.nowMs();
  const principal = namedBy(invocation, 'principal');
  if (principal === null)
    throw wrongUsage('Cannot make the token: nobody is named, expected --principal agent:NAME');
  const wishes = {
    ...{ principal, scopes: scopesOf(invocation), approver: namedBy(invocation, 'approver') },
    ...{
      expiresAtMs: expiryOf(invocation) ?? nowMs + DEFAULT_LIFE_MS,
      label: textOf(invocation, 'label') ?? '',
    },
  };
  return withGateway(invocation, async (gateway, acting) => {
    const tenant = textOf(invocation, 'tenant') ?? acting.tenant;
    const { token, about } = await mintToken(gateway, acting.by, { ...wishes, tenant, ...HOLDS_ALL });
    if (print.json) {
      print.document({ token, ...tokenDocument(about, nowMs) });
      return 0;
    }
    const { id, scopes, expiresAtMs } = about;
    print.line(token);
    print.note('created', 'green', `  ${id} for ${formatPrincipal(principal)} (${scopes.join(', ')})`);
    print.note('→', 'cyan', ` it is good until ${isoTime(expiresAtMs)} and is not shown again`);
    return 0;
  });
}

function namedBy(invocation: Invocation, flag: string): Principal | null {
  const raw = textOf(invocation, flag);
  if (raw === undefined) return null;
  const principal = parsePrincipal(raw);
  if (principal !== null) return principal;
  throw wrongUsage(`Cannot use --${flag} "${raw}": expected agent:NAME, user:NAME or service:NAME`);
}

function scopesOf(invocation: Invocation): readonly Scope[] {
  const words = (textOf(invocation, 'scopes') ?? 'call').split(',');
  const odd = words.find((word) => !isScope(word));
  if (odd === undefined) return words.filter(isScope);
  throw wrongUsage(`Cannot use the scope "${odd}": it is none, expected some of ${ALL_SCOPES.join(',')}`);
}
