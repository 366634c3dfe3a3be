import type { Json } from '../../core/json.ts';
import { parseStrict } from '../../core/strict-json.ts';
import { componentRef, skillPurl } from './bom.ts';
import { modulesOf } from './digests.ts';
import { listOf, memberOf, showText, textOf } from './json-parts.ts';
import { LOCK_FILE, readLock } from './package-lock.ts';
import { PACKAGE_FILES, type SkillPackage } from './skill-package.ts';

/** A component that a bill of materials names; nobody has checked its texts. */
export type BomComponent = { readonly name: string; readonly version: string; readonly purl: string | null };

const BOM_LIMITS = { maxBytes: 8 * 1024 * 1024, maxDepth: 64 };
/** More than a person reads. */
const MAX_PROBLEMS = 50;

/** Where the bill of materials, whoever made it, does not fit the package: one sentence each, none when it fits. */
export function checkBom(pkg: SkillPackage): readonly string[] {
  const bytes = pkg.entries.get(PACKAGE_FILES.bom);
  if (bytes === undefined) return [`The package has no ${PACKAGE_FILES.bom}.`];
  const parsed = parseStrict(bytes, BOM_LIMITS);
  if (!parsed.ok) return [parsed.message];
  const bom = parsed.value;
  if (textOf(bom, 'bomFormat') !== 'CycloneDX') return ['It is not in the format CycloneDX.'];
  const components = listOf(bom, 'components');
  return [
    ...skillProblems(bom, pkg),
    ...fileProblems(components, pkg),
    ...missingComponents(components, pkg),
  ].slice(0, MAX_PROBLEMS);
}

/** The components with a name and a version in the bill of materials; none where it cannot be read. */
export function bomComponents(pkg: SkillPackage): readonly BomComponent[] {
  const bytes = pkg.entries.get(PACKAGE_FILES.bom);
  const parsed = bytes === undefined ? null : parseStrict(bytes, BOM_LIMITS);
  if (parsed === null || !parsed.ok) return [];
  return listOf(parsed.value, 'components').flatMap((component) => {
    const [name, version] = [textOf(component, 'name'), textOf(component, 'version')];
    return name === null || version === null ? [] : [{ name, version, purl: textOf(component, 'purl') }];
  });
}

function skillProblems(bom: Json, { manifest }: SkillPackage): readonly string[] {
  const component = memberOf(memberOf(bom, 'metadata'), 'component');
  const expected = { name: manifest.id, version: manifest.version, purl: skillPurl(manifest) };
  return Object.entries(expected).flatMap(([key, value]) => {
    const is = textOf(component, key);
    return is === value ? [] : [`Its ${key} of the skill is ${showText(is)}, expected "${value}".`];
  });
}

/** Every file that the bill names is in the package with that digest, and every module is named. */
function fileProblems(components: readonly Json[], { digests }: SkillPackage): readonly string[] {
  const problems: string[] = [];
  const named = new Set<string>();
  for (const component of components) {
    if (textOf(component, 'type') !== 'file') continue;
    const path = textOf(component, 'name') ?? '';
    const hash = listOf(component, 'hashes').find((each) => textOf(each, 'alg') === 'SHA-256') ?? null;
    const [is, digest] = [textOf(hash, 'content'), digests.get(path)];
    named.add(path);
    if (digest === undefined) problems.push(`It names the file ${showText(path)}, which the package lacks.`);
    else if (is !== digest)
      problems.push(`Its digest of "${path}" is ${showText(is)}, expected "${digest}".`);
  }
  const missing = modulesOf(digests).filter(([path]) => !named.has(path));
  return [...problems, ...missing.map(([path]) => `It does not name the module "${path}".`)];
}

function missingComponents(
  components: readonly Json[],
  { manifest, entries }: SkillPackage,
): readonly string[] {
  const named = new Set<string>();
  for (const component of components) {
    const [name, version] = [textOf(component, 'name') ?? '', textOf(component, 'version') ?? ''];
    named.add(componentRef({ name, version, purl: textOf(component, 'purl') }));
  }
  const asked = manifest.components.filter((each) => !named.has(componentRef(each)));
  const problems = asked.map(({ name, version }) => `It does not name "${name}" ${version} of skill.toml.`);
  const lockBytes = entries.get(LOCK_FILE);
  if (lockBytes === undefined) return problems;
  const lock = readLock(lockBytes);
  if (!lock.ok) return [...problems, `${LOCK_FILE} cannot be compared with it: ${lock.what}`];
  const locked = lock.packages.filter(({ purl }) => !named.has(purl));
  return [...problems, ...locked.map(({ purl }) => `It does not name "${purl}" of ${LOCK_FILE}.`)];
}
