import type { Digest } from '../../core/digest.ts';
import type { Json } from '../../core/json.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { modulesOf } from './digests.ts';
import { listOf, memberOf, showText, textOf } from './json-parts.ts';
import { type Files, PROVENANCE_PREDICATE_TYPE, sourcesOf } from './provenance.ts';
import { PACKAGE_FILES, type SkillPackage } from './skill-package.ts';

const PROVENANCE_LIMITS = { maxBytes: 1024 * 1024, maxDepth: 32 };
/** More than a person reads. */
const MAX_PROBLEMS = 50;

/** Where the provenance does not fit the package: one sentence each, none when it fits. */
export function checkProvenance(pkg: SkillPackage): readonly string[] {
  const bytes = pkg.entries.get(PACKAGE_FILES.provenance);
  if (bytes === undefined) return [`The package has no ${PACKAGE_FILES.provenance}.`];
  const parsed = parseStrict(bytes, PROVENANCE_LIMITS);
  if (!parsed.ok) return [parsed.message];
  const statement = parsed.value;
  if (textOf(statement, 'predicateType') !== PROVENANCE_PREDICATE_TYPE) {
    return ['It is no SLSA provenance of version 1.'];
  }
  const definition = memberOf(memberOf(statement, 'predicate'), 'buildDefinition');
  return [
    ...listProblems(listOf(statement, 'subject'), modulesOf(pkg.digests), pkg.digests),
    ...listProblems(
      listOf(definition, 'resolvedDependencies'),
      sourcesOf(pkg.digests, pkg.manifest),
      pkg.digests,
    ),
    ...parameterProblems(memberOf(definition, 'externalParameters'), pkg.manifest),
  ].slice(0, MAX_PROBLEMS);
}

/** Every named file is in the package with that digest, and every file that should be named is. */
function listProblems(
  list: readonly Json[],
  expected: Files,
  digests: ReadonlyMap<string, Digest>,
): readonly string[] {
  const problems: string[] = [];
  const named = new Set<string>();
  for (const item of list) {
    const path = textOf(item, 'name') ?? '';
    const [is, digest] = [textOf(memberOf(item, 'digest'), 'sha256'), digests.get(path)];
    named.add(path);
    if (digest === undefined) problems.push(`It names ${showText(path)}, which the package lacks.`);
    else if (is !== digest)
      problems.push(`Its digest of "${path}" is ${showText(is)}, expected "${digest}".`);
  }
  const missing = expected.filter(([path]) => !named.has(path));
  return [...problems, ...missing.map(([path]) => `It does not name "${path}".`)];
}

function parameterProblems(parameters: Json, { id, version, build }: Manifest): readonly string[] {
  const skill = memberOf(parameters, 'skill');
  const compared = [
    ['skill', textOf(skill, 'id'), id],
    ['version', textOf(skill, 'version'), version],
    ['language', textOf(parameters, 'language'), build?.language ?? null],
  ] as const;
  return compared.flatMap(([name, is, expected]) =>
    is === expected ? [] : [`Its ${name} is ${showText(is)}, expected ${showText(expected)}.`],
  );
}
