import { CodedError } from '../../core/coded-error.ts';
import { digestBytes } from '../../core/digest.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { readArchive } from './archive.ts';
import { digestsOf } from './digests.ts';
import { showText } from './json-parts.ts';
import { readSkill, requireMade } from './read-skill.ts';
import type { SkillPackage } from './skill-package.ts';
import type { Identity } from './statement.ts';
import { verifySigner } from './verify-signer.ts';

/*
 * From bytes of anybody to a package. The size comes first, then the archive, then the signature over everything in it,
 * and only then is the manifest read; each step sees nothing that the one before has not let through. Whether the
 * signer may be trusted, and whether the skill may run, is for others. Nothing is written, run or compiled here, and
 * what is wrong is always a CodedError.
 */

/** Opens a package: it is sound, and signed over every other byte where it is signed at all. */
export function openPackage(bytes: Uint8Array): SkillPackage {
  const entries = readArchive(bytes);
  const digests = digestsOf(entries);
  const signed = verifySigner({ entries, digests });
  const manifest = readSkill(entries);
  requireMade(entries);
  if (signed !== null) checkIdentity(signed.identity, manifest);
  return { artifact: digestBytes(bytes), entries, digests, manifest, signer: signed?.signer ?? null };
}

function checkIdentity(signed: Identity, manifest: Manifest): void {
  for (const key of ['id', 'name', 'publisher', 'version'] as const) {
    // Boundary: a list that was signed for one skill does not make another skill of the same files.
    if (signed[key] === manifest[key]) continue;
    const is = `it is signed with the ${key} ${showText(signed[key])}`;
    const what = `${is}, expected "${manifest[key]}" of skill.toml`;
    throw new CodedError('skill/bad-signature', `Cannot verify package: ${what}`);
  }
}
