import { CodedError } from '../../core/coded-error.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { openPackage } from '../../skills/package/open-package.ts';
import { PACKAGE_FILES, type SkillPackage } from '../../skills/package/skill-package.ts';
import type { Gateway } from '../gateway.ts';

/** The package of an installed skill, read from the disk and compared to the byte; throws `skill/changed` for any other. */
export async function storedPackage(
  { skills }: Pick<Gateway, 'skills'>,
  { id, version, artifact }: Pick<InstalledSkill, 'id' | 'version' | 'artifact'>,
): Promise<SkillPackage> {
  const pkg = await openPackage(skills.artifacts.read(artifact));
  const { manifest } = pkg;
  // Boundary: a row that names the bytes of another skill is no way to run them.
  if (manifest.id === id && manifest.version === version) return pkg;
  throw new CodedError(
    'skill/changed',
    `Cannot use ${id}@${version}: its package is that of ${manifest.id}@${manifest.version}`,
  );
}

/** What a package says to whoever reads it. */
export function proseOf({ entries }: SkillPackage): string {
  return Buffer.from(entries.get(PACKAGE_FILES.prose) ?? new Uint8Array(0)).toString('utf8');
}
