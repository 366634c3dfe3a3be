import * as z from 'zod';
import { CodedError, wrongUsage } from '../core/coded-error.ts';
import { cut, quote } from '../core/hostile-text.ts';
import { orElse, type Result, sentenceOf } from '../core/result.ts';
import { parseKey, parsePrefix, STORAGE_KEY_BYTES, type StorageKey } from '../core/storage-key.ts';
import { deleteStorage } from '../invoke/storage.ts';
import { versionsOf } from '../skills/index/read.ts';
import { type Deleting, pageOfSpaces } from '../storage/spaces.ts';
import type { SpaceName } from '../storage/tables.ts';
import { readPage, readValue } from '../storage/values.ts';
import { actingOf, requireAdministrativeReader, tenantOf } from './access.ts';
import {
  ADMINISTERS,
  type OpenedGateway,
  type Operation,
  type OperationContext,
  operation,
} from './operation.ts';
import { pageInput, pageOf, switchValue } from './schema-parts.ts';

/*
 * What skills have stored, for the administrators of a tenant. Keys and values are texts of guests and may be hostile:
 * they are data of documents. A list never has a value; one is shown where it is asked for by its key, and cut.
 */

const PAGE = 20;
/** Of a value that is shown; the skill itself reads the whole. */
const MOST_SHOWN_BYTES = 64 * 1024;
const CURSOR = /^([A-Za-z0-9._@+-]{1,128}):([a-z0-9._-]{1,128})$/;
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const count = z.int().min(0);
const skill = z
  .string()
  .regex(/^[a-z0-9._-]{1,128}$/)
  .describe(
    'The id of the skill, also of one that was removed; `local.NAME` of a module that was run by hand.',
  );
const keyText = z.string().min(1).max(STORAGE_KEY_BYTES);
const prefixText = z
  .string()
  .min(1)
  .max(STORAGE_KEY_BYTES + 1);

const space = z
  .object({
    tenant: z.string(),
    skill: z.string(),
    keys: count,
    bytes: count.describe('Of all keys and values together.'),
    installed: z.boolean().describe('False: no version of the skill is installed; what it stored is left.'),
  })
  .meta({ id: 'StorageSpace' });
const entry = z
  .object({ key: z.string(), version: count, bytes: count.describe('Of the value.') })
  .meta({ id: 'StorageEntry' });

const facts = { ...ADMINISTERS, noun: 'storage' } as const;
type Context = OperationContext<OpenedGateway>;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'listStorage',
    sentence: 'Lists what skills have stored for the tenant: how many keys and bytes; never a value.',
    http: { method: 'GET', path: '/v1/storage' },
    input: pageInput(PAGE).extend({
      tenant: z.string().max(128).optional().describe('Only of this tenant.'),
      skill: skill.optional().describe('Only of this skill.'),
    }),
    output: pageOf('spaces', space),
    handle: (context, { limit, cursor, tenant: named, skill: only = null }) => {
      requireAdministrativeReader(context);
      const { store } = context.gateway;
      const tenant = tenantOf(context, named ?? null);
      // Boundary: what belongs to another tenant does not exist for the caller.
      if (named !== undefined && named !== tenant) return { spaces: [], cursor: null };
      const page = pageOfSpaces(store, { tenant, skill: only, after: spaceOf(cursor), limit });
      const spaces = page.spaces.map((each) => ({
        ...each,
        installed: versionsOf(store, each.skill).length > 0,
      }));
      return { spaces, cursor: page.next === null ? null : `${page.next.tenant}:${page.next.skill}` };
    },
  }),
  operation({
    ...facts,
    name: 'listStorageKeys',
    sentence: 'Lists the keys that a skill has stored for the tenant, with the sizes of their values.',
    http: { method: 'GET', path: '/v1/storage/{skill}/keys' },
    input: pageInput(PAGE).extend({
      cursor: keyText.optional().describe('The cursor of the page before; left out: the first page.'),
      skill,
      prefix: prefixText.default('/').describe('Only keys at and beneath this prefix, as `notes/`.'),
    }),
    output: pageOf('keys', entry),
    handle: (context, { skill: id, prefix, cursor, limit }) => {
      requireAdministrativeReader(context);
      const beneath = demand(parsePrefix(prefix));
      const after = cursor === undefined ? null : demand(parseKey(cursor));
      const name = { tenant: context.caller.tenant, skill: id };
      const page = readPage(context.gateway.store, name, { prefix: beneath, after, limit });
      return { keys: page.entries, cursor: page.next };
    },
  }),
  operation({
    ...facts,
    name: 'getStorageValue',
    sentence: `Shows the value of a key, at most ${MOST_SHOWN_BYTES} bytes of it.`,
    http: { method: 'GET', path: '/v1/storage/{skill}/value' },
    input: z.strictObject({ skill, key: keyText.describe('The key.') }),
    output: {
      schema: z.object({
        skill,
        key: z.string(),
        version: count,
        bytes: count,
        encoding: z
          .enum(['utf-8', 'base64'])
          .describe('How `value` is written: as text where its bytes are UTF-8.'),
        value: z.string().describe('Without the secrets of the machine.'),
        truncated: z.boolean().describe('Whether there is more than is shown.'),
      }),
      sentence: 'The value.',
    },
    handle: (context, { skill: id, key: rawKey }) => {
      requireAdministrativeReader(context);
      const key = demand(parseKey(rawKey));
      const found = readValue(context.gateway.store, { tenant: context.caller.tenant, skill: id }, key);
      if (found === null) throw unknownKey(id, key);
      const { value, version } = found;
      return { skill: id, key, version, bytes: value.byteLength, ...shownValue(context, value) };
    },
  }),
  operation({
    ...facts,
    name: 'deleteStorage',
    sentence:
      'Deletes one key, the keys at and beneath a prefix, or all that a skill has stored for the tenant.',
    http: { method: 'DELETE', path: '/v1/storage/{skill}' },
    input: z.strictObject({
      skill,
      key: keyText.optional().describe('This key.'),
      prefix: prefixText.optional().describe('The keys at and beneath this prefix.'),
      all: switchValue.optional().describe('All of them.'),
    }),
    output: {
      schema: z.object({ skill, keys: count, bytes: count }),
      sentence: 'What is gone: the number of keys, and the bytes of keys and values.',
    },
    handle: async (context, { skill: id, ...what }) => {
      const { gateway, door, caller } = context;
      const { by } = actingOf(context);
      const deleting = deletingOf(what);
      const where = { tenant: caller.tenant, skill: id };
      const asked = { by, space: where, deleting, door, credential: caller.credential };
      const emptied = await deleteStorage(gateway, asked);
      if (emptied.keys === 0 && deleting.kind === 'key') throw unknownKey(id, deleting.key);
      return { skill: id, ...emptied };
    },
  }),
];

type What = {
  readonly key?: string | undefined;
  readonly prefix?: string | undefined;
  readonly all?: boolean | undefined;
};

/** Boundary: what is deleted is named; nothing that is left out means everything. */
function deletingOf({ key, prefix, all }: What): Deleting {
  const named = [key !== undefined, prefix !== undefined, all === true].filter(Boolean).length;
  if (named !== 1) throw wrongUsage('Cannot delete: expected exactly one of "key", "prefix" and "all"');
  if (key !== undefined) return { kind: 'key', key: demand(parseKey(key)) };
  if (prefix === undefined) return { kind: 'all' };
  const parsed = demand(parsePrefix(prefix));
  if (parsed !== '') return { kind: 'prefix', prefix: parsed };
  throw wrongUsage('Cannot delete the prefix "/": it is the whole space, expected "all" for that');
}

function demand<T>(parsed: Result<T>): T {
  if (parsed.ok) return parsed.value;
  throw wrongUsage(sentenceOf(parsed.problem));
}

function spaceOf(cursor: string | undefined): SpaceName | null {
  if (cursor === undefined) return null;
  const [, tenant, id] = CURSOR.exec(cursor) ?? [];
  if (tenant !== undefined && id !== undefined) return { tenant, skill: id };
  throw wrongUsage(
    'Cannot go on after the cursor: it is not valid, expected the one that the page before gave',
  );
}

function shownValue({ gateway }: Context, value: Uint8Array) {
  const text = orElse(() => DECODER.decode(value), null);
  const truncated = value.byteLength > MOST_SHOWN_BYTES;
  if (text === null)
    return {
      encoding: 'base64',
      value: Buffer.from(value.subarray(0, MOST_SHOWN_BYTES)).toString('base64'),
      truncated,
    };
  // Cut after the redaction, so that no half of a secret is left at the end.
  const safe = String(gateway.redact(text));
  return { encoding: 'utf-8', value: truncated ? cut(safe, MOST_SHOWN_BYTES) : safe, truncated };
}

function unknownKey(id: string, key: StorageKey): CodedError {
  return new CodedError(
    'door/not-found',
    `Cannot find the key ${quote(key)}: ${quote(id)} has stored no such key`,
    {
      remedy: `\`palisade storage show ${id}\` lists its keys.`,
    },
  );
}
