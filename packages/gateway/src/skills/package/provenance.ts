import { STATEMENT_TYPE } from '@palisade/sdk';
import type { Digest } from '../../core/digest.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { modulesOf } from './digests.ts';
import { LOCK_FILE } from './package-lock.ts';

/*
 * How the modules came to be, as the author says it: an in-toto statement with a SLSA provenance, version 1. Packing
 * has not watched the building, so this is the author's word, which the signature makes theirs for good; the digests of
 * the modules and of the sources are those of the files in the package, and the audit compares them again.
 */

export const PROVENANCE_PREDICATE_TYPE = 'https://slsa.dev/provenance/v1';
export const BUILD_TYPE = 'urn:palisade:skill-build:v1';
export const BUILDER_ID = 'urn:palisade:skill-pack';

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
export type Files = readonly (readonly [string, Digest])[];

/** The files in the folders of the sources that skill.toml names, and what npm builds by. */
export function sourcesOf(digests: ReadonlyMap<string, Digest>, { build }: Manifest): Files {
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
