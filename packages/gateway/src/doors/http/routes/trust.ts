import { z } from 'zod';
import { CodedError } from '../../../core/coded-error.ts';
import { type Adding, addTrust, revokeTrust, rotateTrust } from '../../../invoke/skills/trust.ts';
import { keyAt, keysOf } from '../../../skills/trust.ts';
import { keyDocument } from '../../documents/trust.ts';
import { requireHome, requireReader } from '../may-see.ts';
import { type Asked, type Route, route } from '../route.ts';
import {
  addKeyBody,
  publisherName,
  revokedKey,
  revokeKeyBody,
  rotatedKey,
  rotateKeyBody,
  trustedKey,
  trustList,
  trustQuery,
} from '../schemas/trust.ts';
import { actingOf, document, json } from './answer.ts';

/* Whose signatures count is said once for the whole gateway. */

const TAG = 'trust';
const params = z.object({ publisher: publisherName });

const listKeys = route({
  method: 'GET',
  path: '/v1/trust',
  name: 'listTrustedKeys',
  tag: TAG,
  sentence: 'Lists the keys of publishers.',
  scope: 'read',
  query: trustQuery,
  replies: { 200: document(trustList, 'The keys.') },
  handle: async (asked) => {
    requireHome(asked);
    requireReader(asked);
    const { store, clock } = asked.gateway;
    const nowMs = clock.nowMs();
    return json({ keys: keysOf(store, asked.query.publisher).map((key) => keyDocument(key, nowMs)) });
  },
});

const addKey = route({
  method: 'POST',
  path: '/v1/trust',
  name: 'trustKey',
  tag: TAG,
  sentence: 'Trusts a key to sign for a publisher.',
  scope: 'skills',
  body: { type: 'application/json', schema: addKeyBody },
  replies: { 201: document(trustedKey, 'The key.') },
  handle: async (asked) => {
    const key = await addTrust(asked.gateway, addingOf(asked, asked.body.publisher, asked.body));
    return json(keyDocument(key, asked.gateway.clock.nowMs()), 201);
  },
});

const rotateKey = route({
  method: 'POST',
  path: '/v1/trust/{publisher}/rotate',
  name: 'rotateTrustedKey',
  tag: TAG,
  sentence:
    'Trusts a new key of a publisher; the ones before sign nothing new, and what they signed goes on.',
  scope: 'skills',
  params,
  body: { type: 'application/json', schema: rotateKeyBody },
  replies: { 200: document(rotatedKey, 'The new key, and those that it replaces.') },
  handle: async (asked) => {
    const { gateway, params: named, body } = asked;
    const { added, retired } = await rotateTrust(gateway, addingOf(asked, named.publisher, body));
    return json({ added: keyDocument(added, gateway.clock.nowMs()), retired });
  },
});

const revokeKey = route({
  method: 'POST',
  path: '/v1/trust/{publisher}/revoke',
  name: 'revokeTrustedKey',
  tag: TAG,
  sentence: 'Takes all trust from a key, for good; what it signed goes into quarantine.',
  scope: 'skills',
  params,
  body: { type: 'application/json', schema: revokeKeyBody },
  replies: { 200: document(revokedKey, 'The key, and what went into quarantine.') },
  handle: async (asked) => {
    requireHome(asked);
    const { gateway, body } = asked;
    const { publisher } = asked.params;
    // Boundary: the key of one publisher is not revoked by a word about another.
    if (keyAt(gateway.store, body.keyId)?.publisher !== publisher)
      throw new CodedError(
        'skill/untrusted',
        `Cannot revoke the key: "${publisher}" has no such key, expected one of its own`,
        { remedy: 'See the keys with `GET /v1/trust`.' },
      );
    const { key, quarantined } = await revokeTrust(gateway, { ...actingOf(asked), ...body });
    return json({ key: keyDocument(key, gateway.clock.nowMs()), quarantined });
  },
});

type Offered = { readonly key: string; readonly expiresAt?: string | undefined };

function addingOf(
  asked: Pick<Asked, 'gateway' | 'caller'>,
  publisher: string,
  { key, expiresAt }: Offered,
): Adding {
  requireHome(asked);
  const expiresAtMs = expiresAt === undefined ? null : Date.parse(expiresAt);
  if (expiresAtMs !== null && expiresAtMs <= asked.gateway.clock.nowMs())
    throw new CodedError(
      'door/wrong-usage',
      'Cannot trust the key: expiresAt is past, expected a time to come',
    );
  return { ...actingOf(asked), publisher, document: key, expiresAtMs };
}

export const trustRoutes: readonly Route[] = [listKeys, addKey, rotateKey, revokeKey];
