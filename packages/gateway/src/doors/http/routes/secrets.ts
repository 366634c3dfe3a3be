import { CodedError } from '../../../core/coded-error.ts';
import { requireAdministrator } from '../../../invoke/administer.ts';
import {
  formatScope,
  MAX_VALUE_BYTES,
  parseScope,
  SCOPE_SHAPE,
  type VaultScope,
} from '../../../vault/secret.ts';
import type { Vault } from '../../../vault/vault.ts';
import { secretDocument } from '../../documents/secrets.ts';
import { type Asked, type Route, route } from '../route.ts';
import { secretList, secretParams, secretQuery, secretRemoved, secretSet } from '../schemas/secret.ts';
import { bytesOf, document, json } from './answer.ts';

/*
 * Secrets go in and never come out: there is no row that gives a value, and no reply that has one. Operators of the gateway
 * see and set all of them; those of another tenant only what is for that tenant.
 */

const TAG = 'secrets';

type Asking = Pick<Asked, 'gateway' | 'caller'>;

function administeredVault({ gateway, caller }: Asking): Vault {
  requireAdministrator(gateway, caller.principal, caller.tenant);
  return gateway.vault;
}

/** Boundary: what is for a tenant is nobody else's, and what is for all is the operators'. */
function isReachable({ gateway, caller }: Asking, { kind, subject }: VaultScope): boolean {
  const { tenant } = caller;
  return tenant === gateway.config.gateway.tenant || (kind === 'tenant' && subject === tenant);
}

function scopeOf(asked: Asking, raw: string): VaultScope {
  const scope = parseScope(raw);
  if (scope === null)
    throw new CodedError('door/wrong-usage', `Cannot use the scope: it is none, expected ${SCOPE_SHAPE}`);
  if (isReachable(asked, scope)) return scope;
  throw new CodedError(
    'policy/denied',
    `Cannot use the scope "${raw}": the credential is of tenant "${asked.caller.tenant}", expected "tenant:${asked.caller.tenant}"`,
  );
}

const listSecrets = route({
  method: 'GET',
  path: '/v1/secrets',
  name: 'listSecrets',
  tag: TAG,
  sentence: 'Lists the secrets by name and scope, never their values.',
  scope: 'secrets',
  replies: { 200: document(secretList, 'The secrets.') },
  handle: async (asked) => {
    const vault = administeredVault(asked);
    const secrets = vault.list().filter(({ scope }) => isReachable(asked, scope));
    return json({ lockedWith: vault.lockedWith, secrets: secrets.map(secretDocument) });
  },
});

const setSecret = route({
  method: 'PUT',
  path: '/v1/secrets/{name}',
  name: 'setSecret',
  tag: TAG,
  sentence: 'Sets a secret; the body is the value, to the byte.',
  scope: 'secrets',
  params: secretParams,
  query: secretQuery,
  body: { type: 'application/octet-stream', maxBytes: MAX_VALUE_BYTES },
  replies: { 200: document(secretSet, 'What is known of it now.') },
  handle: async (asked) => {
    const vault = administeredVault(asked);
    const scope = scopeOf(asked, asked.query.scope);
    const value = bytesOf(asked);
    try {
      const { name, version, bytes } = await vault.set(
        asked.params.name,
        scope,
        value,
        asked.caller.principal,
      );
      return json({ name, scope: formatScope(scope), version, bytes });
    } finally {
      value.fill(0);
    }
  },
});

const removeSecret = route({
  method: 'DELETE',
  path: '/v1/secrets/{name}',
  name: 'removeSecret',
  tag: TAG,
  sentence: 'Removes a secret.',
  scope: 'secrets',
  params: secretParams,
  query: secretQuery,
  replies: { 200: document(secretRemoved, 'It is gone.') },
  handle: async (asked) => {
    const vault = administeredVault(asked);
    const { name } = asked.params;
    const scope = scopeOf(asked, asked.query.scope);
    const where = formatScope(scope);
    if (await vault.remove(name, scope, asked.caller.principal))
      return json({ name, scope: where, removed: true });
    throw new CodedError(
      'vault/missing',
      `Cannot remove the secret "${name}": there is none in the scope "${where}"`,
      { remedy: '`GET /v1/secrets` lists what there is.' },
    );
  },
});

export const secretsRoutes: readonly Route[] = [listSecrets, setSecret, removeSecret];
