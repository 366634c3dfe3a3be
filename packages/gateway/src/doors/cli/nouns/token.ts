import { ALL_SCOPES, type Scope } from '../../../core/caller.ts';
import { isoTime } from '../../../core/clock.ts';
import { parsePrincipal } from '../../../core/principal.ts';
import { isScope } from '../../../identity/scopes.table.ts';
import { numberOf, textOf, wrongUsage } from '../input.ts';
import { operate } from '../operate.ts';
import { expiryOf } from '../quantities.ts';
import type { Invocation } from '../verb.ts';

/** Creates a token and prints it once, on standard output alone, so that it can be piped to where it is kept. */
export async function create(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const principal = principalFlag(invocation, 'principal');
  if (principal === undefined)
    throw wrongUsage('Cannot create the token: --principal is missing, expected --principal agent:NAME');
  const expiresAtMs = expiryOf(invocation);
  const input = {
    principal,
    scopes: scopesOf(invocation),
    approver: principalFlag(invocation, 'approver'),
    expiresAt: expiresAtMs === null ? undefined : isoTime(expiresAtMs),
    label: textOf(invocation, 'label'),
  };
  const created = await operate(invocation, 'createToken', input);
  return print.result(created, () => {
    const { id, scopes, expiresAt } = created;
    print.line(created.token);
    print.note('created', 'green', `  ${id} for ${principal} (${scopes.join(', ')})`);
    print.next(`store it now: it is not shown again, and is valid until ${expiresAt}`);
  });
}

/** Of all tenants, or of the one of --tenant: only the owner of the state directory sees those of others. */
export async function list(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 1000, absent: 20 });
  const [tenant, after] = [textOf(invocation, 'tenant'), textOf(invocation, 'cursor')];
  const page = await operate(invocation, 'listTokens', { tenant, limit, cursor: after });
  const { tokens, cursor } = page;
  return print.result(page, () => {
    print.table(
      ['ID', 'STATE', 'WHO', 'TENANT', 'SCOPES', 'APPROVER', 'EXPIRES', 'BY', 'LABEL'],
      tokens.map((each) => [
        ...[each.id, each.state, each.principal, each.tenant, each.scopes.join(','), each.approver ?? '-'],
        ...[each.expiresAt, each.createdBy, each.label || '-'],
      ]),
      'There are no tokens.',
    );
    print.more('palisade token list --cursor', cursor);
  });
}

/** Revokes a token; every gateway process refuses it from its next request on. */
export async function revoke(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const token = await operate(invocation, 'revokeToken', { id: args[0] });
  return print.result(token, () => print.note('revoked', 'red', `  ${token.id} of ${token.principal}`));
}

function principalFlag(invocation: Invocation, flag: string): string | undefined {
  const raw = textOf(invocation, flag);
  if (raw === undefined || parsePrincipal(raw) !== null) return raw;
  throw wrongUsage(`Cannot use --${flag} "${raw}": expected agent:NAME, user:NAME or service:NAME`);
}

function scopesOf(invocation: Invocation): readonly Scope[] {
  const words = (textOf(invocation, 'scopes') ?? 'call').split(',');
  const odd = words.find((word) => !isScope(word));
  if (odd === undefined) return words.filter(isScope);
  throw wrongUsage(`Cannot use the scope "${odd}": expected some of ${ALL_SCOPES.join(',')}`);
}
