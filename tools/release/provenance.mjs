/**
 * Says what a release was made from and with: an in-toto statement with a SLSA provenance of version 1. It is not signed:
 * whoever publishes signs it, or has npm do that. It has no time in it, so the same sources and tools give the same bytes.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../command.mjs';

/** The file in a release. */
export const PROVENANCE = 'provenance.intoto.json';

/** The statement about these files, each with its digest. */
export function provenanceOf({ subjects, version, source, lock, tools, packages }) {
  const materials = Object.entries(packages).map(([name, each]) => ({
    uri: `pkg:deb/debian/${name}@${each}`,
  }));
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:palisade:release:1',
        externalParameters: { command: 'npm run release', version },
        internalParameters: { tools },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: source.commit }, annotations: { clean: source.isClean } },
          { name: 'package-lock.json', digest: { sha256: lock } },
          ...materials,
        ],
      },
      runDetails: { builder: { id: 'urn:palisade:release-script' } },
    },
  };
}

/** The commit of a clone, and whether its files are those of the commit. */
export async function sourceOf(root) {
  const commit = await run('git', ['rev-parse', 'HEAD'], { cwd: root });
  const status = await run('git', ['status', '--porcelain', '--untracked-files=normal'], { cwd: root });
  if (!commit.ok || !status.ok)
    throw new Error(
      `Cannot name the source of the release: ${commit.output.trim()}\nRun it in a clone, with git.`,
    );
  const tag = await run('git', ['tag', '--points-at', 'HEAD'], { cwd: root });
  return {
    commit: commit.output.trim(),
    isClean: status.output.trim() === '',
    tags: tag.output.split('\n').filter((each) => each !== ''),
  };
}

/** The versions of the Debian packages that these names stand for. */
export async function debianVersions(names) {
  const { ok, output } = await run('dpkg-query', ['-W', ...names], { cwd: '/' });
  if (!ok) throw new Error(`Cannot name the compilers: ${output.trim()}`);
  const rows = output.trim().split('\n');
  return Object.fromEntries(
    rows.map((row) => row.replace(/:\w+\t/, '\t').split('\t')).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** The versions of the programs that decide on the bytes, besides the compilers. */
export async function toolVersions(root) {
  const npm = await run('npm', ['--version'], { cwd: '/' });
  const esbuild = JSON.parse(readFileSync(join(root, 'node_modules/esbuild/package.json'), 'utf8')).version;
  const typescript = JSON.parse(
    readFileSync(join(root, 'node_modules/typescript/package.json'), 'utf8'),
  ).version;
  return { node: process.versions.node, npm: npm.output.trim().split('\n').at(-1), esbuild, typescript };
}

/** The digest of a file. */
export function sha256Of(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
