import * as z from 'zod';
import { ALL_SCOPES } from '../core/caller.ts';
import { isoTime } from '../core/clock.ts';
import { wrongUsage } from '../core/coded-error.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../core/principal.ts';
import { LABEL_CHARS, listTokens, MOST_SESSIONS, stateOf, type Token } from '../identity/tokens.ts';
import { mintToken, withdrawToken } from '../invoke/tokens.ts';
import { requireAdministrativeReader, tenantOf } from './access.ts';
import { ADMINISTERS, type Operation, operation } from './operation.ts';
import {
  isoTimeText,
  nameText,
  pageInput,
  pageOf,
  principalText,
  proseText,
  scope,
  someId,
  wholeNumber,
} from './schema-parts.ts';

/* Who the caller is, and the tokens of its tenant: created, listed and revoked by its administrators. */

const PAGE = 20;
const DEFAULT_LIFE_MS = 30 * 86_400_000;

const token = z
  .object({
    id: z.string(),
    state: z.enum(['active', 'expired', 'revoked']),
    principal: principalText,
    tenant: z.string(),
    scopes: z.array(scope),
    label: z.string(),
    device: z.string().nullable().describe('The device of its holder, for policies and sessions.'),
    channel: z.string().nullable().describe('The client or the way in of its holder, for the same.'),
    sessions: z.int().describe('How many sessions of its own it may begin while one may be idle.'),
    createdAt: isoTimeText,
    createdBy: z.string(),
    expiresAt: isoTimeText,
    revokedAt: isoTimeText.nullable(),
    revokedBy: z.string().nullable(),
  })
  .meta({ id: 'Token' });

const identity = z.object({
  principal: principalText,
  tenant: z.string(),
  scopes: z.array(scope),
  credential: z.string().describe('Names the credential in records; it is not a secret.'),
  device: z.string().nullable().describe('The device that the credential was issued for.'),
  channel: z.string().nullable().describe('The client or the way in that it was issued for.'),
  approver: principalText.nullable().describe('The person who may be asked in the client to approve calls.'),
});

export const operations: readonly Operation[] = [
  operation({
    ...ADMINISTERS,
    name: 'listTokens',
    noun: 'identity',
    sentence: 'Lists the tokens of the tenant, the newest first; never a token itself.',
    access: requireAdministrativeReader,
    opens: 'records',
    http: { method: 'GET', path: '/v1/tokens' },
    input: pageInput(PAGE).extend({
      tenant: z.string().max(128).optional().describe('Only those of this tenant.'),
    }),
    output: pageOf('tokens', token),
    handle: (context, { limit, cursor: after = null, tenant: named }) => {
      const { store, clock } = context.gateway;
      const nowMs = clock.nowMs();
      const tenant = tenantOf(context, named);
      const found =
        named !== undefined && named !== tenant ? [] : listTokens(store, { tenant, after, limit });
      const tokens = found.map((each) => tokenDocument(each, nowMs));
      const cursor = tokens.length < limit ? null : (tokens.at(-1)?.id ?? null);
      return { tokens, cursor };
    },
  }),
  operation({
    ...ADMINISTERS,
    name: 'createToken',
    noun: 'identity',
    sentence: 'Makes a token for the tenant of the caller. Its text is in this reply and never again.',
    http: { method: 'POST', path: '/v1/tokens' },
    input: z.strictObject({
      principal: principalText.describe('Who the holder of the token is.'),
      scopes: z
        .array(scope)
        .min(1)
        .max(scope.options.length)
        .default(['call'])
        .describe('What it is valid for; no more than the credential that asks.'),
      expiresAt: isoTimeText.optional().describe('When it ends; left out: in 30 days.'),
      label: proseText(LABEL_CHARS).default('').describe('What it is for.'),
      device: nameText.optional().describe('The device of its holder, for policies and sessions.'),
      channel: nameText.optional().describe('The client or the way in of its holder, for the same.'),
      sessions: wholeNumber(0, MOST_SESSIONS)
        .optional()
        .describe('How many sessions of its own it may begin while one may be idle; never for an agent.'),
    }),
    output: {
      schema: token.extend({ token: z.string() }),
      sentence: 'The token, with its text.',
      created: true,
    },
    handle: async (
      { gateway, caller },
      { principal, scopes, expiresAt, label, device, channel, sessions },
    ) => {
      const nowMs = gateway.clock.nowMs();
      const { token: text, about } = await mintToken(gateway, caller.principal, {
        principal: principalOf(principal),
        tenant: caller.tenant,
        scopes,
        ...{ label, device, channel, sessions },
        held: caller.scopes,
        expiresAtMs: expiresAt === undefined ? nowMs + DEFAULT_LIFE_MS : Date.parse(expiresAt),
      });
      return { token: text, ...tokenDocument(about, nowMs) };
    },
  }),
  operation({
    ...ADMINISTERS,
    name: 'revokeToken',
    noun: 'identity',
    sentence: 'Revokes a token of the tenant for good; it counts from the next request on.',
    http: { method: 'DELETE', path: '/v1/tokens/{id}' },
    input: z.strictObject({ id: someId.describe('The id of a token: tok_…') }),
    output: { schema: token, sentence: 'The token, revoked.' },
    handle: async (context, { id }) => {
      const { gateway, caller } = context;
      const revoked = await withdrawToken(gateway, caller.principal, { id, tenant: tenantOf(context) });
      return tokenDocument(revoked, gateway.clock.nowMs());
    },
  }),
  operation({
    name: 'whoAmI',
    noun: 'identity',
    sentence: 'Says who the caller is by its credential, and what that is valid for.',
    scope: null,
    opens: 'records',
    http: { method: 'GET', path: '/v1/whoami' },
    input: z.strictObject({}),
    output: { schema: identity, sentence: 'The caller.' },
    handle: ({ caller: { principal, tenant, scopes, credential, approver, ...place } }) => ({
      principal: formatPrincipal(principal),
      tenant,
      credential,
      scopes: ALL_SCOPES.filter((each) => scopes.has(each)),
      device: place.device ?? null,
      channel: place.channel ?? null,
      approver: approver === null ? null : formatPrincipal(approver),
    }),
  }),
];

/** A token as programs see it; its text is nowhere in it. */
function tokenDocument(shown: Token, nowMs: number) {
  const { id, principal, tenant, scopes, label, device, channel, sessions } = shown;
  const { createdBy, revokedAtMs, revokedBy } = shown;
  return {
    id,
    state: stateOf(shown, nowMs),
    principal: formatPrincipal(principal),
    tenant,
    scopes: [...scopes],
    label,
    ...{ device, channel, sessions },
    createdAt: isoTime(shown.createdAtMs),
    createdBy,
    expiresAt: isoTime(shown.expiresAtMs),
    revokedAt: revokedAtMs === null ? null : isoTime(revokedAtMs),
    revokedBy,
  };
}

function principalOf(raw: string): Principal {
  const principal = parsePrincipal(raw);
  if (principal !== null) return principal;
  throw wrongUsage(`Cannot use "${raw}": expected agent:NAME, user:NAME or service:NAME`);
}
