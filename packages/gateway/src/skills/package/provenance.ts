import { STATEMENT_TYPE } from '@palisade/sdk';
import type { Digest } from '../../core/digest.ts';
import { anyText, list, looseObject } from '../../core/json-shape.ts';
import { choice, optional, required, withDefault } from '../../core/shape.ts';
import { MAX_SHOWN_DIFFERENCES, PROVENANCE_LIMITS } from '../limits.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { LOCK_FILE } from './package-lock.ts';
import {
  fileDifferences,
  modulesOf,
  NAMED_FILE,
  PACKAGE_FILES,
  readDocument,
  type SkillPackage,
  showText,
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

/** The files in the folders of the sources that skill.toml names, and what npm builds by. */
function sourcesOf(digests: ReadonlyMap<string, Digest>, { build }: Manifest): ReturnType<typeof modulesOf> {
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

const PROVENANCE = looseObject({
  predicateType: required(choice([PROVENANCE_PREDICATE_TYPE])),
  subject: required(list(NAMED_FILE)),
  predicate: required(
    looseObject({
      buildDefinition: required(
        looseObject({
          externalParameters: required(
            looseObject({
              skill: required(looseObject({ id: required(anyText), version: required(anyText) })),
              language: optional(anyText),
            }),
          ),
          resolvedDependencies: withDefault(list(NAMED_FILE), []),
        }),
      ),
    }),
  ),
});

/** Where the provenance does not fit the package: one sentence each, none when it fits. */
export function checkProvenance(pkg: SkillPackage): readonly string[] {
  const { digests, manifest } = pkg;
  const read = readDocument(pkg, PACKAGE_FILES.provenance, PROVENANCE_LIMITS, PROVENANCE);
  if (!read.ok) return [read.problem];
  const { subject, predicate } = read.value;
  const { externalParameters, resolvedDependencies } = predicate.buildDefinition;
  const { skill, language } = externalParameters;
  const files = (list: typeof subject) => list.map(({ name, digest }) => [name, digest.sha256] as const);
  const compared = [
    ['skill', skill.id, manifest.id],
    ['version', skill.version, manifest.version],
    ['language', language, manifest.build?.language ?? null],
  ] as const;
  return [
    ...fileDifferences(files(subject), modulesOf(digests), pkg),
    ...fileDifferences(files(resolvedDependencies), sourcesOf(digests, manifest), pkg),
    ...compared.flatMap(([name, is, expected]) =>
      is === expected ? [] : [`Its ${name} is ${showText(is)}, expected ${showText(expected)}.`],
    ),
  ].slice(0, MAX_SHOWN_DIFFERENCES);
}
