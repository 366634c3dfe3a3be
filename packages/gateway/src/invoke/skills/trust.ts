/** Whose signatures are trusted. Revoking a key takes every skill that it signed out of use in the same transaction. */
import { nodePrimitives } from '../../attest/primitives.ts';
import { CodedError } from '../../core/coded-error.ts';
import { formatPrincipal } from '../../core/principal.ts';
import { skillsOfKey } from '../../skills/index/read.ts';
import { TEXTS } from '../../skills/manifest/texts.table.ts';
import { addKey, keysOf, readPublicKey, retireKeys, revokeKey, type TrustedKey } from '../../skills/trust.ts';
import type { Transaction } from '../../store/transaction.ts';
import { administer, requireAdministrator } from '../administer.ts';
import type { Gateway } from '../gateway.ts';
import { type Acting, quarantine } from './skill-acts.ts';

export type Adding = Acting & {
  readonly publisher: string;
  /** The text of the public key document. */
  readonly document: string;
  readonly expiresAtMs: number | null;
};

export async function addTrust(gateway: Gateway, adding: Adding): Promise<TrustedKey> {
  const read = await readKey(gateway, adding);
  return administer(gateway, adding, (tx) => {
    const key = addKey(tx, { ...read, ...factsOf(gateway, adding) });
    recordTrust(gateway, tx, adding, { act: 'added', key });
    return key;
  });
}

type Rotated = { readonly added: TrustedKey; readonly retired: readonly string[] };

/** A new key for a publisher; earlier ones sign nothing new, and what they signed stays valid. */
export async function rotateTrust(gateway: Gateway, adding: Adding): Promise<Rotated> {
  const read = await readKey(gateway, adding);
  return administer(gateway, adding, (tx) => {
    if (keysOf(tx, adding.publisher).length === 0)
      throw new CodedError(
        'skill/untrusted',
        `Cannot rotate the key of "${adding.publisher}": the publisher has no key`,
        {
          remedy: `Add the first one with \`palisade trust add ${adding.publisher} KEYFILE\`.`,
        },
      );
    const added = addKey(tx, { ...read, ...factsOf(gateway, adding) });
    const retired = retireKeys(tx, adding.publisher, added.keyId, gateway.clock.nowMs());
    recordTrust(gateway, tx, adding, { act: 'added', key: added });
    for (const key of retired) recordTrust(gateway, tx, adding, { act: 'retired', key });
    return { added, retired: retired.map(({ keyId }) => keyId) };
  });
}

type Revoking = Acting & { readonly keyId: string; readonly reason: string | null };

export type RevokedTrust = { readonly key: TrustedKey; readonly quarantined: readonly string[] };

export async function revokeTrust(gateway: Gateway, revoking: Revoking): Promise<RevokedTrust> {
  const { keyId, reason } = revoking;
  const revoked = await administer(gateway, revoking, (tx) => {
    const key = revokeKey(tx, { keyId, reason, atMs: gateway.clock.nowMs() });
    recordTrust(gateway, tx, revoking, { act: 'revoked', key });
    const quarantined = skillsOfKey(tx, keyId).flatMap(({ id, version }) => {
      const why = `the key ${keyId} of its publisher was revoked`;
      const isNew = quarantine(gateway, tx, { id, version }, { why, acting: revoking });
      return isNew ? [`${id}@${version}`] : [];
    });
    return { key, quarantined };
  });
  gateway.skills.running.look();
  return revoked;
}

async function readKey(
  gateway: Gateway,
  { document, publisher, by, tenant }: Adding,
): Promise<Pick<TrustedKey, 'keyId' | 'publicKey'>> {
  requireAdministrator(gateway, by, tenant);
  // Boundary: a key is never stored for a name that no skill can have, or that means palisade itself.
  const odd = TEXTS.publisher.oddity(publisher);
  if (odd !== null)
    throw new CodedError(
      'skill/untrusted',
      `Cannot trust a key for the publisher: ${odd.is}, expected ${TEXTS.publisher.expected}`,
      { remedy: 'Use the name of the publisher as it is written in skill.toml.' },
    );
  const read = await readPublicKey(document, nodePrimitives);
  if (read.ok) return read.value;
  throw new CodedError('skill/untrusted', `Cannot trust the key: ${read.problem}`, {
    remedy: 'Use the public key document that `palisade skill sign --new-key` writes beside the key.',
  });
}

function factsOf(gateway: Gateway, { publisher, by, expiresAtMs }: Adding) {
  const addedAtMs = gateway.clock.nowMs();
  return { publisher, addedAtMs, addedBy: formatPrincipal(by), origin: 'operator', expiresAtMs } as const;
}

type TrustRecord = { readonly act: 'added' | 'retired' | 'revoked'; readonly key: TrustedKey };

/** Records a change of a key, in the transaction that performs it. */
export function recordTrust(
  { journal }: Pick<Gateway, 'journal'>,
  tx: Transaction,
  { by, tenant }: Acting,
  { act, key }: TrustRecord,
): void {
  const { publisher, keyId, origin, expiresAtMs, reason } = key;
  journal.append(tx, {
    ...{ kind: 'trust-changed', call: null, principal: formatPrincipal(by), tool: null, tenant },
    body: { act, publisher, key: keyId, origin, expiresAtMs, reason },
  });
}
