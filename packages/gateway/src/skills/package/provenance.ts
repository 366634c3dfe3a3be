import { STATEMENT_TYPE } from '@palisade/sdk';
import type { Digest } from '../../core/digest.ts';
import type { Json } from '../../core/json.ts';
import { parseStrict } from '../../core/strict-json.ts';
import { MAX_SHOWN_DIFFERENCES, PROVENANCE_LIMITS } from '../limits.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { LOCK_FILE } from './package-lock.ts';
import {
  listOf,
  memberOf,
  modulesOf,
  PACKAGE_FILES,
  type SkillPackage,
  showText,
  textOf,
} from './skill-package.ts';

/*
 * How the modules came to be, as claimed by the author: an in-toto statement with a SLSA provenance, version 1. Packing
 * does not observe the build, so this is the author's claim, bound to them by the signature; the digests of the modules
 * and of the sources are those of the files in the package, and the audit compares them again.
 */

const PROVENANCE_PREDICATE_TYPE = 'https://slsa.dev/provenance/v1';
const BUILD_TYPE = 'urn:palisade:skill-build:v1';
const BUILDER_ID = 'urn:palisade:skill-pack';

/** What a build depends on beside its sources. */
const BUILD_FILES: ReadonlySet<string> = new Set(['package.json', LOCK_FILE]);

/** The provenance of these files; the same files and version give the same bytes. */
export function makeProvenance(
  digests: ReadonlyMap<string, Digest>,
  manifest: Manifest,
  palisade: string,
): string {
  const { id, version, build } = manifest;
  const statement = {
    _type: STATEMENT_TYPE,
    subject: modulesOf(digests).map(describeFile),
    predicateType: PROVENANCE_PREDICATE_TYPE,
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: {
          skill: { id, version },
          ...(build === null ? {} : { language: build.language, modules: build.modules }),
        },
        resolvedDependencies: sourcesOf(digests, manifest).map(describeFile),
      },
      runDetails: { builder: { id: BUILDER_ID, version: { palisade } } },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
}

/** Files with their digests. */
type Files = readonly (readonly [string, Digest])[];

/** The files in the folders of the sources that skill.toml names, and what npm builds by. */
function sourcesOf(digests: ReadonlyMap<string, Digest>, { build }: Manifest): Files {
  if (build === null) return [];
  const sources = new Set(build.modules.map(({ source }) => source));
  const folders = [...sources]
    .filter((path) => path.includes('/'))
    .map((path) => path.slice(0, path.lastIndexOf('/') + 1));
  const modules = new Set(modulesOf(digests).map(([path]) => path));
  return [...digests].filter(
    ([path]) =>
      sources.has(path) ||
      BUILD_FILES.has(path) ||
      (!modules.has(path) && folders.some((folder) => path.startsWith(folder))),
  );
}

function describeFile([path, digest]: readonly [string, Digest]): object {
  return { name: path, digest: { sha256: digest } };
}

/** Where the provenance does not fit the package: one sentence each, none when it fits. */
export function checkProvenance(pkg: SkillPackage): readonly string[] {
  const bytes = pkg.entries.get(PACKAGE_FILES.provenance);
  if (bytes === undefined) return [`The package has no ${PACKAGE_FILES.provenance}.`];
  const parsed = parseStrict(bytes, PROVENANCE_LIMITS);
  if (!parsed.ok) return [parsed.message];
  const statement = parsed.value;
  if (textOf(statement, 'predicateType') !== PROVENANCE_PREDICATE_TYPE) {
    return ['It is not a SLSA provenance of version 1.'];
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
  ].slice(0, MAX_SHOWN_DIFFERENCES);
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
