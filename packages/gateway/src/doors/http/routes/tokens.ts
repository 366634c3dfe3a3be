import { z } from 'zod';
import { CodedError } from '../../../core/coded-error.ts';
import { type Principal, parsePrincipal } from '../../../core/principal.ts';
import { LABEL_CHARS, listTokens } from '../../../identity/tokens.ts';
import { requireAdministrator } from '../../../invoke/administer.ts';
import { mintToken, withdrawToken } from '../../../invoke/tokens.ts';
import { tokenDocument } from '../../documents/token.ts';
import { type Asked, type Reply, type Route, route } from '../route.ts';
import {
  isoTimeText,
  nextCursor,
  pageQuery,
  principalText,
  proseText,
  scope,
  someId,
} from '../schemas/parts.ts';
import { document, json } from './answer.ts';

/* Tokens of the caller's tenant: made, listed, revoked by who may administer it. */

const USUAL_PAGE = 20;
const DEFAULT_LIFE_MS = 30 * 86_400_000;
const asJson = 'application/json';

const token = z
  .object({
    id: z.string(),
    state: z.enum(['active', 'expired', 'revoked']),
    principal: principalText,
    tenant: z.string(),
    scopes: z.array(scope),
    approver: principalText.nullable(),
    label: z.string(),
    createdAt: isoTimeText,
    createdBy: z.string(),
    expiresAt: isoTimeText,
    revokedAt: isoTimeText.nullable(),
    revokedBy: z.string().nullable(),
  })
  .meta({ id: 'Token' });

const tokenBody = z.strictObject({
  principal: principalText.describe('Who whoever has the token is.'),
  scopes: z
    .array(scope)
    .min(1)
    .max(scope.options.length)
    .default(['call'])
    .describe('What it is good for; no more than the credential that asks.'),
  expiresAt: isoTimeText.optional().describe('When it ends; left out: in 30 days.'),
  approver: principalText.optional().describe('The person behind the client, as user:NAME.'),
  label: proseText(LABEL_CHARS).default('').describe('What it is for.'),
});

export const tokensRoutes: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/v1/tokens', name: 'listTokens', tag: 'identity', scope: 'admin' },
    sentence: 'Lists the tokens of the tenant, the newest first; never a token itself.',
    query: pageQuery(USUAL_PAGE),
    replies: {
      200: document(z.object({ tokens: z.array(token), cursor: nextCursor }), 'A page of tokens.'),
    },
    handle: async ({ gateway, caller, query }) => {
      const { principal, tenant } = caller;
      requireAdministrator(gateway, principal, tenant);
      const { limit, cursor: after = null } = query;
      const nowMs = gateway.clock.nowMs();
      const tokens = listTokens(gateway.store, { tenant, after, limit }).map((each) =>
        tokenDocument(each, nowMs),
      );
      const cursor = tokens.length < limit ? null : (tokens.at(-1)?.id ?? null);
      return json({ tokens, cursor });
    },
  }),
  route({
    ...{ method: 'POST', path: '/v1/tokens', name: 'createToken', tag: 'identity', scope: 'admin' },
    sentence: 'Makes a token for the tenant of the caller. Its text is in this reply and never again.',
    body: { type: asJson, schema: tokenBody },
    replies: {
      201: document(token.extend({ token: z.string() }), 'The token, with its text.'),
    },
    handle: createToken,
  }),
  route({
    ...{ method: 'DELETE', path: '/v1/tokens/{id}', name: 'revokeToken', tag: 'identity', scope: 'admin' },
    sentence: 'Revokes a token of the tenant for good; it counts from the next request on.',
    params: z.object({ id: someId.describe('The id of a token: tok_…') }),
    replies: { 200: document(token, 'The token, revoked.') },
    handle: async ({ gateway, caller, params }) => {
      const { principal, tenant } = caller;
      const revoked = await withdrawToken(gateway, principal, { id: params.id, tenant });
      return json(tokenDocument(revoked, gateway.clock.nowMs()));
    },
  }),
];

async function createToken(asked: Asked<unknown, unknown, z.output<typeof tokenBody>>): Promise<Reply> {
  const { gateway, caller, body } = asked;
  const { scopes, expiresAt, approver, label } = body;
  const nowMs = gateway.clock.nowMs();
  const { token: text, about } = await mintToken(gateway, caller.principal, {
    ...{ principal: principalOf(body.principal), tenant: caller.tenant, scopes, label, held: caller.scopes },
    approver: approver === undefined ? null : principalOf(approver),
    expiresAtMs: expiresAt === undefined ? nowMs + DEFAULT_LIFE_MS : Date.parse(expiresAt),
  });
  return json({ token: text, ...tokenDocument(about, nowMs) }, 201);
}

function principalOf(raw: string): Principal {
  const principal = parsePrincipal(raw);
  if (principal !== null) return principal;
  throw new CodedError(
    'door/wrong-usage',
    `Cannot use "${raw}": expected agent:NAME, user:NAME or service:NAME`,
  );
}
