import { CodedError } from '../../core/coded-error.ts';
import { digestBytes } from '../../core/digest.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { requireManifest } from '../manifest/parse-manifest.ts';
import { readProse } from '../manifest/prose.ts';
import { readArchive } from './archive.ts';
import { type Identity, verifySigner } from './signature.ts';
import { digestsOf, type Entries, PACKAGE_FILES, type SkillPackage, showText } from './skill-package.ts';

/*
 * Turns untrusted bytes into a package. The size comes first, then the archive, then the signature over everything in
 * it, and only then is the manifest read; each step sees only what passed the previous one. Whether the signer is
 * trusted, and whether the skill may run, is decided elsewhere. Nothing is written, run or compiled here, and what is
 * wrong is always a CodedError.
 */

/** Opens a package: it is valid, and its signature, if any, covers every other byte. */
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

/** The manifest of these files, which are all that it speaks of. */
export function readSkill(entries: Entries): Manifest {
  const text = requireEntry(entries, PACKAGE_FILES.manifest, 'Add it to the folder of the skill.');
  const manifest = requireManifest(text, (path) => entries.get(path) ?? null);
  const prose = readProse(requireEntry(entries, PACKAGE_FILES.prose, 'Add it to the folder of the skill.'));
  if (!prose.ok) {
    const { line, what } = prose.problem;
    throw new CodedError('skill/invalid-package', `${PACKAGE_FILES.prose}:${line}: ${what}`, {
      remedy: `Correct the line; docs/skill-package.md has the form of ${PACKAGE_FILES.prose}.`,
    });
  }
  for (const { id, module } of manifest.tools) {
    if (!entries.has(module)) {
      const what = `the module "${module}" of its tool "${id}" is missing, expected it in the package`;
      throw new CodedError('skill/invalid-package', `Cannot use skill: ${what}`, {
        remedy: 'Build it with `palisade skill build`, or correct `module` in skill.toml.',
      });
    }
  }
  return manifest;
}

/** The files that packing makes are there. */
export function requireMade(entries: Entries): void {
  for (const path of [PACKAGE_FILES.bom, PACKAGE_FILES.provenance]) {
    requireEntry(entries, path, 'Pack the folder with `palisade skill pack`, which makes it.');
  }
}

function requireEntry(entries: Entries, path: string, remedy: string): Uint8Array {
  const contents = entries.get(path);
  if (contents !== undefined) return contents;
  throw new CodedError('skill/invalid-package', `Cannot use skill: it has no ${path}, expected one`, {
    remedy,
  });
}
