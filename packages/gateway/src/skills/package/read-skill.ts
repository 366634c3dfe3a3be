import { CodedError } from '../../core/coded-error.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { requireManifest } from '../manifest/parse-manifest.ts';
import { readProse } from '../manifest/prose.ts';
import { type Entries, PACKAGE_FILES } from './skill-package.ts';

/** The manifest of these files, which are all that it speaks of. */
export function readSkill(entries: Entries): Manifest {
  const text = requireEntry(entries, PACKAGE_FILES.manifest, 'Add it to the folder of the skill.');
  const manifest = requireManifest(text, (path) => entries.get(path) ?? null);
  const prose = readProse(requireEntry(entries, PACKAGE_FILES.prose, 'Add it to the folder of the skill.'));
  if (!prose.ok) {
    throw new CodedError('skill/invalid-package', `${PACKAGE_FILES.prose}:${prose.line}: ${prose.what}`, {
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
