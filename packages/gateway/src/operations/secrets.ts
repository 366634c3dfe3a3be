import * as z from 'zod';
import { isoTime } from '../core/clock.ts';
import { CodedError, wrongUsage } from '../core/coded-error.ts';
import { administrator, requireAdministrator } from '../invoke/administer.ts';
import {
  formatScope,
  MAX_VALUE_BYTES,
  parseScope,
  SCOPE_SHAPE,
  type SecretEntry,
  type VaultScope,
} from '../vault/secret.ts';
import { actingOf } from './access.ts';
import { type OpenedGateway, type Operation, type OperationContext, operation } from './operation.ts';
import { isoTimeText } from './schema-parts.ts';

/*
 * Secrets go in and never come out: no operation returns a value, and no document contains one. Operators of the
 * gateway see and set all of them; administrators of another tenant only those of that tenant.
 */

type Context = Pick<OperationContext<OpenedGateway>, 'gateway' | 'caller'>;

const scopeText = z.string().describe('"global", "tenant:NAME", "principal:KIND:NAME" or "skill:ID".');

const named = {
  name: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/)
    .describe('The name of the secret.'),
  scope: z
    .string()
    .max(256)
    .regex(/^(?:global|(?:tenant|principal|skill):.+)$/)
    .default('global')
    .describe('Whose calls it is for: "global", "tenant:NAME", "principal:KIND:NAME" or "skill:ID".'),
};

const secret = z
  .object({
    name: z.string(),
    scope: scopeText,
    version: z.int().describe('One more with each new value.'),
    bytes: z.int(),
    createdAt: isoTimeText.describe('When this value was set.'),
    usedAt: isoTimeText.nullable(),
  })
  .meta({ id: 'Secret' });

const facts = { noun: 'secrets', scope: 'secrets', action: 'administer', opens: 'gateway' } as const;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'listSecrets',
    sentence: 'Lists the secrets by name and scope, never their values.',
    http: { method: 'GET', path: '/v1/secrets' },
    input: z.strictObject({}),
    output: {
      schema: z.object({
        lockedWith: z.enum(['file', 'passphrase']).nullable().describe('Null: no secret was ever set.'),
        secrets: z.array(secret),
      }),
      sentence: 'The secrets.',
    },
    handle: (context) => {
      const { gateway, caller } = context;
      requireAdministrator(gateway, caller.principal, caller.tenant);
      const { vault } = gateway;
      const secrets = vault.list().filter(({ scope }) => isReachable(context, scope));
      return { lockedWith: vault.lockedWith, secrets: secrets.map(secretDocument) };
    },
  }),
  operation({
    ...facts,
    name: 'setSecret',
    sentence: 'Sets a secret; the body is the value, to the byte.',
    http: {
      method: 'PUT',
      path: '/v1/secrets/{name}',
      bytes: { member: 'value', maxBytes: MAX_VALUE_BYTES },
    },
    input: z.strictObject({ ...named, value: z.instanceof(Uint8Array) }),
    output: {
      schema: z.object({ name: z.string(), scope: scopeText, version: z.int(), bytes: z.int() }),
      sentence: 'What is known of it now.',
    },
    handle: async (context, { name, scope: raw, value }) => {
      const by = administrator(context.gateway, actingOf(context));
      const scope = requireReachable(context, raw);
      try {
        const { version, bytes } = await context.gateway.vault.set(name, scope, value, by);
        return { name, scope: formatScope(scope), version, bytes };
      } finally {
        value.fill(0);
      }
    },
  }),
  operation({
    ...facts,
    name: 'removeSecret',
    sentence: 'Removes a secret.',
    http: { method: 'DELETE', path: '/v1/secrets/{name}' },
    input: z.strictObject(named),
    output: {
      schema: z.object({ name: z.string(), scope: scopeText, removed: z.literal(true) }),
      sentence: 'It is gone.',
    },
    handle: async (context, { name, scope: raw }) => {
      const by = administrator(context.gateway, actingOf(context));
      const scope = requireReachable(context, raw);
      const text = formatScope(scope);
      if (await context.gateway.vault.remove(name, scope, by)) return { name, scope: text, removed: true };
      throw new CodedError(
        'vault/missing',
        `Cannot remove the secret "${name}": the scope "${text}" has no secret of this name`,
        { remedy: '`palisade secrets list` or `GET /v1/secrets` lists what exists.' },
      );
    },
  }),
];

/** Boundary: a secret of a tenant is for its administrators alone, and one for all is for the operators. */
function isReachable({ gateway, caller }: Context, { kind, subject }: VaultScope): boolean {
  const { tenant } = caller;
  return tenant === gateway.config.gateway.tenant || (kind === 'tenant' && subject === tenant);
}

function requireReachable(context: Context, raw: string): VaultScope {
  const scope = parseScope(raw);
  if (scope === null) throw wrongUsage(`Cannot use the scope: it is not valid, expected ${SCOPE_SHAPE}`);
  if (isReachable(context, scope)) return scope;
  const { tenant } = context.caller;
  throw new CodedError(
    'policy/denied',
    `Cannot use the scope "${raw}": the credential is of tenant "${tenant}", expected "tenant:${tenant}"`,
  );
}

/** What programs read of a secret: everything but its value. */
function secretDocument({ name, scope, version, bytes, createdAtMs, usedAtMs }: SecretEntry) {
  const usedAt = usedAtMs === null ? null : isoTime(usedAtMs);
  return { name, scope: formatScope(scope), version, bytes, createdAt: isoTime(createdAtMs), usedAt };
}
