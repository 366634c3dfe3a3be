/**
 * Installs a package. It is opened and its signature verified first; then the policies decide, the bytes are stored
 * under their digest, and one transaction adds the version. An interruption in between leaves an unreferenced file,
 * which a later install removes. Then it is audited and quarantined, always.
 */
import { CodedError } from '../../core/coded-error.ts';
import { formatPrincipal } from '../../core/principal.ts';
import { differenceOf, type SkillDifference } from '../../skills/difference.ts';
import { activeOf, artifactsInUse, highestOf, isRevokedArtifact, skillAt } from '../../skills/index/read.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { addVersion, requireSameBytes } from '../../skills/index/write.ts';
import type { Manifest } from '../../skills/manifest/manifest.ts';
import { openPackage } from '../../skills/package/open-package.ts';
import type { Signer, SkillPackage } from '../../skills/package/skill-package.ts';
import { compareVersions } from '../../skills/semver.ts';
import { addKey, keysOf, type TrustOrigin } from '../../skills/trust.ts';
import type { Reader, Transaction } from '../../store/transaction.ts';
import type { Gateway } from '../gateway.ts';
import { auditInstalled } from './audit.ts';
import { dropArtifact } from './change.ts';
import { proseOf, storedPackage, trustOf } from './examine.ts';
import { type Acting, recordDenial, recordSkill, requireAct } from './skill-acts.ts';
import { recordTrust } from './trust.ts';

type Installing = Acting & {
  readonly bytes: Uint8Array;
  /** Permits a version older than one that was installed before. */
  readonly allowDowngrade: boolean;
  readonly signal: AbortSignal;
};

export type InstallResult = {
  readonly skill: InstalledSkill;
  /** The changes against the version that runs; null where none does. */
  readonly difference: SkillDifference | null;
  /** False: the same package was already installed, and nothing has changed. */
  readonly isNew: boolean;
};

/** An unreferenced package is left alone for this long: another process may be about to refer to it. */
const SWEEP_AFTER_MS = 60 * 60_000;

type Signed = { readonly pkg: SkillPackage; readonly signer: Signer; readonly trust: TrustOrigin };

export async function installSkill(gateway: Gateway, installing: Installing): Promise<InstallResult> {
  const { bytes, signal } = installing;
  const { artifacts } = gateway.skills;
  const signed = requireTrusted(gateway, gateway.store, await openPackage(bytes));
  const { pkg } = signed;
  requireCompatible(pkg.manifest, gateway.version);
  await recordDenial(gateway, () => requireInstall(gateway, signed, installing));
  const before = skillAt(gateway.store, pkg.manifest.id, pkg.manifest.version);
  requireNewer(gateway.store, signed, installing.allowDowngrade);
  // Boundary: what will be refused leaves nothing on disk.
  if (before !== null) requireSameBytes(before, pkg.artifact);
  artifacts.sweep(artifactsInUse(gateway.store), SWEEP_AFTER_MS);
  artifacts.write(bytes, pkg.artifact);
  if (before?.artifact === pkg.artifact && before.state !== 'ingested')
    return { skill: before, difference: null, isNew: false };
  const ingested = await recordDenial(gateway, () =>
    gateway.store.commit((tx) => ingest(gateway, tx, signed, installing)),
  ).catch(async (error: unknown) => {
    // What cannot be removed now is removed later.
    await dropArtifact(gateway, pkg).catch(() => undefined);
    throw error;
  });
  // Another process may have removed the same version with its package since; from here on the index refers to it.
  if (artifacts.stampOf(pkg.artifact) === null) artifacts.write(bytes, pkg.artifact);
  const difference = await againstActive(gateway, pkg);
  const skill = await auditInstalled(gateway, ingested, { acting: installing, pkg, signal, withCases: true });
  return { skill, difference, isNew: true };
}

/** Boundary: the key of a package must be valid for its publisher; a new publisher needs the operator's permission. */
function requireTrusted({ clock, skills }: Gateway, reader: Reader, pkg: SkillPackage): Signed {
  const { signer, manifest } = pkg;
  const { firstUse } = skills.terms;
  const verdict = trustOf(reader, pkg, { nowMs: clock.nowMs(), use: 'install', firstUse });
  if (signer !== null && verdict.ok) return { pkg, signer, trust: verdict.how };
  const { code, why } = verdict.ok
    ? { code: 'skill/unsigned' as const, why: 'it has no signature' }
    : verdict;
  throw new CodedError(code, `Cannot install ${manifest.id}@${manifest.version}: ${why}`);
}

function requireInstall(gateway: Gateway, { pkg, trust }: Signed, acting: Acting): readonly string[] {
  return requireAct(gateway, 'install', acting, { manifest: pkg.manifest, trust });
}

function requireCompatible({ id, version, compat }: Manifest, palisade: string): void {
  const { palisadeMin } = compat;
  if (palisadeMin === null || compareVersions(palisade, palisadeMin) >= 0) return;
  throw new CodedError(
    'skill/incompatible',
    `Cannot install ${id}@${version}: this is palisade ${palisade}, expected ${palisadeMin} or newer`,
  );
}

/** Boundary: an old package with known vulnerabilities must not be reinstalled by someone who kept it. */
function requireNewer(reader: Reader, { pkg }: Signed, allowDowngrade: boolean): void {
  const { id, version } = pkg.manifest;
  if (isRevokedArtifact(reader, pkg.artifact))
    throw new CodedError('skill/revoked', `Cannot install ${id}@${version}: this exact package was revoked`);
  const highest = highestOf(reader, id);
  if (highest === null || allowDowngrade || compareVersions(version, highest) >= 0) return;
  if (skillAt(reader, id, version)?.artifact === pkg.artifact) return;
  throw new CodedError(
    'skill/downgrade',
    `Cannot install ${id}@${version}: ${highest} was installed before, expected a newer one`,
  );
}

function ingest(gateway: Gateway, tx: Transaction, signed: Signed, ingesting: Installing): InstalledSkill {
  const { pkg, signer, trust } = signed;
  const { manifest, artifact } = pkg;
  const { id, version, publisher, name } = manifest;
  const nowMs = gateway.clock.nowMs();
  const by = formatPrincipal(ingesting.by);
  const again = skillAt(tx, id, version);
  if (again !== null && again.artifact === artifact) return again;
  // Boundary: the policies, or another process, may have changed what was checked.
  requireNewer(tx, signed, ingesting.allowDowngrade);
  const now = requireTrusted(gateway, tx, pkg);
  const decidedBy = requireInstall(gateway, now, ingesting);
  if (now.trust === 'first-use' && keysOf(tx, publisher).length === 0) {
    const { keyId, publicKey } = signer;
    const key = addKey(tx, {
      ...{ publisher, keyId, publicKey, addedAtMs: nowMs, addedBy: by },
      ...{ origin: 'first-use', expiresAtMs: null },
    });
    recordTrust(gateway, tx, ingesting, { act: 'added', key });
  }
  const { skill } = addVersion(tx, {
    ...{ id, version, publisher, name, artifact, keyId: signer.keyId, trust, manifest },
    ...{ installedAtMs: nowMs, installedBy: by },
  });
  recordSkill(gateway, tx, {
    kind: 'skill-installed',
    skill: { id, version, artifact },
    acting: ingesting,
    body: { publisher, key: signer.keyId, trust, decidedBy: [...decidedBy] },
  });
  return skill;
}

/** The differences from the version that runs; null where none does, or it cannot be read. */
async function againstActive(gateway: Gateway, pkg: SkillPackage): Promise<SkillDifference | null> {
  const { id, version } = pkg.manifest;
  const active = activeOf(gateway.store, id);
  const before = active === null || active === version ? null : skillAt(gateway.store, id, active);
  if (before === null) return null;
  const old = await storedPackage(gateway, before).catch((error: unknown) => {
    // A running version that is no longer what was approved is quarantined by its next call.
    if (error instanceof CodedError && error.code === 'skill/changed') return null;
    throw error;
  });
  if (old === null) return null;
  return differenceOf(
    { manifest: before.manifest, grant: before.grant, prose: proseOf(old) },
    { manifest: pkg.manifest, prose: proseOf(pkg) },
  );
}
