import { z } from 'zod';
import { ALL_SCOPES } from '../../../core/caller.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import { type Route, route } from '../route.ts';
import { principalText, scope } from '../schemas/parts.ts';
import { document, json } from './answer.ts';

/* Who the gateway takes its caller for. */

export const whoamiRoutes: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/v1/whoami', name: 'whoAmI', tag: 'identity', scope: null },
    sentence: 'Tells who the caller is by its credential, and what that is good for.',
    replies: {
      200: document(
        z.object({
          principal: principalText,
          tenant: z.string(),
          scopes: z.array(scope),
          credential: z.string().describe('Names the credential in records; it is no secret.'),
          approver: principalText.nullable().describe('The person behind the client who may be asked there.'),
        }),
        'The caller.',
      ),
    },
    handle: async ({ caller }) => {
      const { principal, tenant, scopes, credential, approver } = caller;
      return json({
        ...{ principal: formatPrincipal(principal), tenant, credential },
        scopes: ALL_SCOPES.filter((each) => scopes.has(each)),
        approver: approver === null ? null : formatPrincipal(approver),
      });
    },
  }),
];
