import { ALL_SCOPES, type Scope } from '../../../core/caller.ts';
import { parsePrincipal } from '../../../core/principal.ts';
import { isScope } from '../../../identity/scopes.table.ts';
import { MOST_SESSIONS } from '../../../identity/tokens.ts';
import { numberOf, pageOf, parsedOf, placeIn, textOf, wrongUsage } from '../input.ts';
import { operationVerb } from '../operate.ts';
import { expiryOf } from '../quantities.ts';
import type { Invocation } from '../verb.ts';

/** Creates a token and prints it once, on standard output alone, so that it can be piped to where it is kept. */
export const create = operationVerb(
  'createToken',
  (invocation) => {
    const principal = principalFlag(invocation, 'principal');
    if (principal === undefined)
      throw wrongUsage('Cannot create the token: --principal is missing, expected --principal agent:NAME');
    const [expiresAt, scopes] = [expiryOf(invocation), scopesOf(invocation)];
    const sessions = numberOf(invocation, 'sessions', { min: 0, max: MOST_SESSIONS, absent: 0 });
    const place = { ...placeIn(invocation), ...(sessions === 0 ? {} : { sessions }) };
    return { principal, scopes, expiresAt, label: textOf(invocation, 'label'), ...place };
  },
  ({ token, id, principal, scopes, expiresAt, device, channel, sessions }, { print }) => {
    print.line(token);
    const on = device === null ? '' : ` on ${device}`;
    const by = channel === null ? '' : ` by ${channel}`;
    print.note('created', 'green', `  ${id} for ${principal}${on}${by} (${scopes.join(', ')})`);
    if (sessions > 0) print.note(`It may begin ${sessions} sessions of its own at a time.`);
    print.next(`store it now: it is not shown again, and is valid until ${expiresAt}`);
  },
);

/** Of all tenants, or of the one of --tenant: only the owner of the state directory sees those of others. */
export const list = operationVerb(
  'listTokens',
  (invocation) => ({ ...pageOf(invocation), tenant: textOf(invocation, 'tenant') }),
  ({ tokens, cursor }, { print }) => {
    print.table(
      ['ID', 'STATE', 'WHO', 'DEVICE', 'CHANNEL', 'TENANT', 'SCOPES', 'EXPIRES', 'BY', 'LABEL'],
      tokens.map((each) => [
        ...[each.id, each.state, each.principal, each.device, each.channel],
        ...[each.tenant, each.scopes.join(',')],
        ...[each.expiresAt, each.createdBy, each.label || null],
      ]),
      'There are no tokens.',
    );
    print.more('palisade token list --cursor', cursor);
  },
);

/** Revokes a token; every gateway process refuses it from its next request on. */
export const revoke = operationVerb(
  'revokeToken',
  ({ args: [id] }) => ({ id }),
  ({ id, principal }, { print }) => print.note('revoked', 'red', `  ${id} of ${principal}`),
);

function principalFlag(invocation: Invocation, flag: string): string | undefined {
  const read = (raw: string) => (parsePrincipal(raw) === null ? null : raw);
  return parsedOf(invocation, flag, read, 'agent:NAME, user:NAME or service:NAME');
}

function scopesOf(invocation: Invocation): readonly Scope[] {
  const words = (textOf(invocation, 'scopes') ?? 'call').split(',');
  const odd = words.find((word) => !isScope(word));
  if (odd === undefined) return words.filter(isScope);
  throw wrongUsage(`Cannot use the scope "${odd}": expected some of ${ALL_SCOPES.join(',')}`);
}
