/**
 * Skills in OCI registries: pushed, pulled, searched. A registry is a place where packages lie, and nothing more: what is
 * pulled is compared with its digests, opened, and returned; whether it is installed is decided like for a file. The
 * journal has what was pushed and pulled, under which reference and digest, in the transaction that remembers what the tag
 * stood for.
 */

import { isoTime } from '../../core/clock.ts';
import { CodedError, wrongUsage } from '../../core/coded-error.ts';
import { formatPrincipal } from '../../core/principal.ts';
import type { ByteCounts } from '../../egress/fetch/outcome.ts';
import { mismatched } from '../../oci/errors.ts';
import { pinTag, type TagPin, tagPin } from '../../oci/pins.ts';
import { digestOfTag, fetchPackage, findSkill } from '../../oci/pull.ts';
import { pushBlob, pushManifest, pushScope } from '../../oci/push.ts';
import {
  formatReference,
  formatRepository,
  type OciDigest,
  type Reference,
  type RegistryHost,
} from '../../oci/reference.ts';
import { RegistrySession } from '../../oci/session.ts';
import { ruleOf, settingsOf } from '../../oci/settings.ts';
import { EMPTY_CONFIG, encodeManifest, ociDigest, type SkillClaims } from '../../oci/skill-artifact.ts';
import { PACKAGE_LIMITS } from '../../skills/limits.ts';
import { openPackage } from '../../skills/package/open-package.ts';
import type { SkillPackage } from '../../skills/package/skill-package.ts';
import type { Transaction } from '../../store/transaction.ts';
import { administer, requireAdministrator } from '../administer.ts';
import type { Gateway, Opened } from '../gateway.ts';
import type { Acting } from './skill-acts.ts';

export type Sharing = Acting & {
  readonly signal: AbortSignal;
  /** The log-in as USER:PASSWORD for this command alone; left out: that of the vault. */
  readonly login?: string;
  readonly onProgress?: (counts: ByteCounts) => void;
};

export type SharedSkill = {
  readonly reference: string;
  /** What the reference stands for. */
  readonly digest: OciDigest;
  readonly pkg: SkillPackage;
  readonly bytes: Uint8Array;
  /** What the tag stood for when it was last used here, where that was something else. */
  readonly movedFrom: OciDigest | null;
  /** The reference is a tag, and names no digest. */
  readonly isByTag: boolean;
};

export type PushedSkill = SharedSkill & {
  /** False: the registry had it already, and nothing was sent. */
  readonly isNew: boolean;
};

/** The session of one command with a registry; the vault is opened only when the registry asks for a log-in. */
export function openSession(
  { config, vault, clock }: Opened<Gateway>,
  registry: RegistryHost,
  { by, tenant, signal, login, onProgress }: Sharing,
  act: string,
): RegistrySession {
  const settings = settingsOf(ruleOf(config.registries, registry), registry);
  let known: Promise<string | null> | null = login === undefined ? null : Promise.resolve(login);
  const reveal = async () => {
    const found = vault.find(settings.secret, { tenant, principal: by, skill: null });
    return found === null
      ? null
      : Buffer.from(await vault.reveal(found, { call: null, tool: null })).toString('utf8');
  };
  return new RegistrySession({
    ...{ clock, registry, settings, signal, act },
    ...(onProgress === undefined ? {} : { onProgress }),
    login: () => {
      known ??= reveal();
      return known;
    },
  });
}

type Pulling = Sharing & {
  readonly reference: Reference;
  /** The tag may stand for something else than before. */
  readonly acceptMoved: boolean;
};

/**
 * Pulls the package that a reference stands for. Nothing is installed, and nothing is written but the record; what the tag
 * stands for is remembered with `rememberTag`, when the caller has used it.
 */
export async function pullSkill(gateway: Opened<Gateway>, pulling: Pulling): Promise<SharedSkill> {
  const { reference, acceptMoved, by, tenant } = pulling;
  requireAdministrator(gateway, by, tenant);
  requireExact(reference);
  const text = formatReference(reference);
  const session = openSession(gateway, reference.registry, pulling, `pull "${text}"`);
  const found = await findSkill(session, reference, PACKAGE_LIMITS.packageBytes);
  const { digest, claims } = found;
  // A digest says what is meant, whatever the tag beside it stands for.
  const isByTag = reference.digest === null;
  const known = isByTag ? tagPin(gateway.store, text) : null;
  const movedFrom = known === null || known.digest === digest ? null : known.digest;
  // Boundary: who can write to the registry can move a tag; that is never taken for an update by itself.
  if (known !== null && movedFrom !== null && !acceptMoved) throw moved(known, digest, reference);
  const bytes = await fetchPackage(session, found);
  const pkg = openPackage(bytes);
  requireClaims(session.task.act, claims, pkg);
  const pulled = { reference: text, digest, pkg, bytes, movedFrom, isByTag };
  await administer(gateway, pulling, (tx) =>
    recordShared(gateway, tx, pulling, { ...pulled, kind: 'skill-pulled' }),
  );
  return pulled;
}

/** Remembers what a tag stood for when it was used: a later use hears of it when the tag was moved. */
export async function rememberTag(gateway: Gateway, acting: Acting, shared: SharedSkill): Promise<void> {
  if (shared.isByTag) await administer(gateway, acting, (tx) => pin(gateway, tx, acting, shared));
}

function pin({ clock }: Gateway, tx: Transaction, { by }: Acting, { reference, digest }: SharedSkill): void {
  pinTag(tx, { reference, digest, seenAtMs: clock.nowMs(), seenBy: formatPrincipal(by) });
}

function requireExact(reference: Reference): void {
  if (reference.tag !== null || reference.digest !== null) return;
  const repository = formatRepository(reference);
  throw wrongUsage(
    `Cannot pull "${repository}": it has neither a tag nor a digest, expected one such as ${repository}:1.0.0`,
    `\`palisade skill search ${repository}\` lists its tags.`,
  );
}

function moved(
  { reference, digest, seenAtMs }: TagPin,
  now: OciDigest,
  { registry, name }: Reference,
): CodedError {
  const is = `the tag stood for ${digest} at ${isoTime(seenAtMs)} and stands for ${now} now`;
  const message = `Cannot pull "${reference}": ${is}, expected the same manifest`;
  const exact = formatReference({ registry, name, tag: null, digest: now });
  const remedy = `Ask the publisher whether the tag was moved. Then name what you mean, \`palisade skill pull ${exact}\`, or add --accept-moved.`;
  return new CodedError('oci/moved', message, { remedy });
}

/** Boundary: what was shown to those who searched is what the signed package says of itself. */
function requireClaims(act: string, claims: SkillClaims, pkg: SkillPackage): void {
  const said = claimsOf(pkg);
  for (const key of ['id', 'version', 'publisher', 'signer'] as const) {
    if (claims[key] === '' || claims[key] === said[key]) continue;
    throw mismatched(
      act,
      `its annotation of the ${key} is "${claims[key]}"`,
      `"${said[key]}", as its package says`,
    );
  }
}

function claimsOf({ manifest, signer }: SkillPackage): SkillClaims {
  const { id, version, publisher, description } = manifest;
  return { id, version, publisher, description, signer: signer?.keyId ?? '' };
}

type Pushing = Sharing & {
  readonly bytes: Uint8Array;
  readonly reference: Reference;
  /** A tag that stands for something else may be moved. */
  readonly moveTag: boolean;
};

/** Pushes a signed package under a tag; by default the version. */
export async function pushSkill(gateway: Opened<Gateway>, pushing: Pushing): Promise<PushedSkill> {
  const { bytes, by, tenant, moveTag } = pushing;
  requireAdministrator(gateway, by, tenant);
  const pkg = openPackage(bytes);
  const { id, version } = pkg.manifest;
  if (pkg.signer === null)
    throw new CodedError('skill/unsigned', `Cannot push ${id}@${version}: it has no signature`, {
      remedy: 'Sign it with `palisade skill sign FILE --key FILE`.',
    });
  const reference = taggedWith(pushing.reference, version);
  const text = formatReference(reference);
  const session = openSession(gateway, reference.registry, pushing, `push "${text}"`);
  const layer = { digest: ociDigest(bytes), bytes: bytes.length };
  const manifest = encodeManifest({ claims: claimsOf(pkg), layer }, packageFileName(pkg));
  const digest = ociDigest(manifest);
  const before = await digestOfTag(session, reference, pushScope(reference));
  const movedFrom = before === digest ? null : before;
  if (movedFrom !== null && !moveTag) throw taken(text, movedFrom, digest);
  if (before !== digest) {
    await pushBlob(session, reference, EMPTY_CONFIG);
    await pushBlob(session, reference, bytes);
    await pushManifest(session, reference, manifest);
  }
  const pushed = { reference: text, digest, pkg, bytes, movedFrom, isByTag: true };
  await administer(gateway, pushing, (tx) => {
    pin(gateway, tx, pushing, pushed);
    if (before !== digest) recordShared(gateway, tx, pushing, { ...pushed, kind: 'skill-pushed' });
  });
  return { ...pushed, isNew: before !== digest };
}

/** A tag has no "+", which the build of a version begins with. */
function taggedWith(reference: Reference, version: string): Reference {
  if (reference.digest !== null)
    throw wrongUsage(
      `Cannot push to "${formatReference(reference)}": it names a digest, expected a tag`,
      'The digest follows from the package: leave it out.',
    );
  return reference.tag === null ? { ...reference, tag: version.replaceAll('+', '_') } : reference;
}

function taken(reference: string, before: OciDigest, digest: OciDigest): CodedError {
  const message = `Cannot push "${reference}": the tag stands for ${before}, expected ${digest} or none`;
  const remedy =
    'Push a new version under its own tag. If everyone who uses this tag shall get other bytes, add --move-tag.';
  return new CodedError('oci/moved', message, { remedy });
}

/** The name of a package as a file; without its publisher. Ids and versions are plain, so it leads to no other folder. */
export function packageFileName({ manifest: { id, version } }: SkillPackage): string {
  return `${id.slice(id.indexOf('.') + 1).replaceAll('.', '-')}-${version}.skill`;
}

type SharedRecord = SharedSkill & { readonly kind: 'skill-pushed' | 'skill-pulled' };

function recordShared(
  { journal }: Gateway,
  tx: Transaction,
  { by, tenant }: Acting,
  shared: SharedRecord,
): void {
  const { kind, reference, digest, pkg, movedFrom } = shared;
  const { id, version } = pkg.manifest;
  const principal = formatPrincipal(by);
  const body = { skill: id, version, artifact: pkg.artifact, reference, digest, movedFrom };
  journal.append(tx, { kind, principal, tenant, body });
}
