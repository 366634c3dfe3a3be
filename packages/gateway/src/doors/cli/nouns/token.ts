import { ALL_SCOPES, type Scope } from '../../../core/caller.ts';
import { isoTime } from '../../../core/clock.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../../../core/principal.ts';
import { isScope } from '../../../identity/scope-words.ts';
import { listTokens } from '../../../identity/tokens.ts';
import { HOLDS_ALL, mintToken, withdrawToken } from '../../../invoke/tokens.ts';
import { tokenDocument } from '../../documents/token.ts';
import { numberOf, textOf, wrongUsage } from '../input.ts';
import { actAs, withRecords } from '../opened.ts';
import { expiryOf } from '../quantities.ts';
import type { Invocation } from '../verb.ts';

const DEFAULT_LIFE_MS = 30 * 86_400_000;

/** Creates a token and prints it once, on standard output alone, so that it can be piped to where it is kept. */
export async function create(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  const nowMs = edge.clock.nowMs();
  const principal = principalFlag(invocation, 'principal');
  if (principal === null)
    throw wrongUsage('Cannot create the token: --principal is missing, expected --principal agent:NAME');
  const wishes = {
    principal,
    scopes: scopesOf(invocation),
    approver: principalFlag(invocation, 'approver'),
    expiresAtMs: expiryOf(invocation) ?? nowMs + DEFAULT_LIFE_MS,
    label: textOf(invocation, 'label') ?? '',
  };
  return actAs(invocation, async (gateway, { by, tenant: own }) => {
    const tenant = textOf(invocation, 'tenant') ?? own;
    const { token, about } = await mintToken(gateway, by, { ...wishes, tenant, ...HOLDS_ALL });
    return print.result({ token, ...tokenDocument(about, nowMs) }, () => {
      const { id, scopes, expiresAtMs } = about;
      print.line(token);
      print.note('created', 'green', `  ${id} for ${formatPrincipal(principal)} (${scopes.join(', ')})`);
      print.next(`store it now: it is not shown again, and is valid until ${isoTime(expiresAtMs)}`);
    });
  });
}

export async function list(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 1000, absent: 20 });
  const [tenant, after] = [textOf(invocation, 'tenant') ?? null, textOf(invocation, 'cursor') ?? null];
  return withRecords(invocation, ({ store }) => {
    const nowMs = edge.clock.nowMs();
    const tokens = listTokens(store, { tenant, after, limit }).map((each) => tokenDocument(each, nowMs));
    const cursor = tokens.length < limit ? null : (tokens.at(-1)?.id ?? null);
    return print.result({ tokens, cursor }, () => {
      if (tokens.length === 0) print.line('There are no tokens.');
      else {
        print.table(
          ['ID', 'STATE', 'WHO', 'TENANT', 'SCOPES', 'APPROVER', 'EXPIRES', 'BY', 'LABEL'],
          tokens.map((token) => [
            token.id,
            token.state,
            token.principal,
            token.tenant,
            token.scopes.join(','),
            token.approver ?? '-',
            token.expiresAt,
            token.createdBy,
            token.label || '-',
          ]),
        );
      }
      if (cursor !== null) print.note(`More: palisade token list --cursor ${cursor}`);
    });
  });
}

/** Revokes a token; every gateway process refuses it from its next request on. */
export async function revoke(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  return actAs(invocation, async (gateway, { by }) => {
    const token = await withdrawToken(gateway, by, { id: args[0] ?? '', tenant: null });
    return print.result(tokenDocument(token, edge.clock.nowMs()), () =>
      print.note('revoked', 'red', `  ${token.id} of ${formatPrincipal(token.principal)}`),
    );
  });
}

function principalFlag(invocation: Invocation, flag: string): Principal | null {
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
  throw wrongUsage(`Cannot use the scope "${odd}": expected some of ${ALL_SCOPES.join(',')}`);
}
