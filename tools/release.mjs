/**
 * Makes a release: `npm run release -- --dry-run [--out DIR]`. It builds every package from a copy of the sources, packs
 * them, describes and digests what was made, and runs the scenario of an installation with exactly these archives. It
 * publishes nothing: it ends with the commands that do, for a person with the right to.
 *
 * Without --dry-run it also demands what a release must have: a clean clone, a tag, and a section of the changelog.
 */
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from './check.mjs';
import { run } from './command.mjs';
import { BOM, billOf } from './release/bom.mjs';
import { PLATFORMS } from './release/launchers.table.mjs';
import { NOTES, notesOf, sectionOf } from './release/notes.mjs';
import { digestsIn, packAll, SUMS, writeSums } from './release/pack.mjs';
import {
  debianVersions,
  PROVENANCE,
  provenanceOf,
  sha256Of,
  sourceOf,
  toolVersions,
} from './release/provenance.mjs';
import { buildPackages, makeStage, RELEASED_PACKAGES } from './release/stage.mjs';

const SCENARIO = 'tests/scenarios/installed.test.ts';

/** Each step with what is said of it; each adds to what the later ones know. */
const STEPS = [
  ['checking the versions, the changelog and the clone', checkSources],
  ['building the packages', buildAll],
  ['packing', pack],
  ['writing the bill of materials, the provenance, the notes and the digests', describe],
  ['installing from the archives in an empty directory, and trying what was installed', tryInstalled],
];

/** Makes a release in `outDir`, which is emptied first; throws with what to do where a step fails. */
export async function makeRelease(options) {
  const { say, steps = STEPS } = options;
  let known = { ...options, stage: makeStage(options.root) };
  try {
    for (const [at, [what, step]] of steps.entries()) {
      const began = performance.now();
      say(`${at + 1}/${steps.length} ${what}`);
      known = { ...known, ...(await step(known)) };
      say(`    ${((performance.now() - began) / 1000).toFixed(1)} s`);
    }
    return known;
  } finally {
    rmSync(known.stage, { recursive: true, force: true });
  }
}

async function checkSources({ root, isDry }) {
  const version = versionOf(root);
  const source = await sourceOf(root);
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const [unreleased, released] = ['Unreleased', version].map((heading) => sectionOf(changelog, heading));
  const section = isDry ? (unreleased ?? released) : released;
  if (section === undefined || (!isDry && unreleased !== undefined))
    throw new Error(
      `Cannot release ${version}: CHANGELOG.md has no section for all of it. Write "## ${version}" in place of "## Unreleased".`,
    );
  if (isDry) return { version, source, section };
  if (!source.isClean)
    throw new Error(
      `Cannot release ${version}: the clone has changes. Run \`git status\`, and commit or remove them.`,
    );
  if (!source.tags.includes(`v${version}`))
    throw new Error(
      `Cannot release ${version}: this commit has no tag for it. Run \`git tag -s v${version}\`.`,
    );
  return { version, source, section };
}

/** The one version of everything that is released together. */
function versionOf(root) {
  const read = (name) =>
    JSON.parse(readFileSync(join(root, `packages/${name}/package.json`), 'utf8')).version;
  const version = read('gateway');
  const other = RELEASED_PACKAGES.find((name) => read(name) !== version);
  if (other !== undefined)
    throw new Error(
      `Cannot release ${version}: packages/${other}/package.json has ${read(other)}. Write the same version into all of packages/*/package.json.`,
    );
  const constant = readFileSync(join(root, 'packages/gateway/src/version.ts'), 'utf8');
  if (!constant.includes(`'${version}'`))
    throw new Error(
      `Cannot release ${version}: packages/gateway/src/version.ts has another one. Write "${version}".`,
    );
  return version;
}

async function buildAll({ root, stage, version, say }) {
  return buildPackages(root, stage, { version, say: (what) => say(`    ${what}`) });
}

async function pack({ folders, outDir, say }) {
  rmSync(outDir, { recursive: true, force: true });
  mkdirSync(outDir, { recursive: true });
  const packed = await packAll(folders, outDir);
  for (const { file, size, unpackedSize } of packed)
    say(`    ${file}: ${kilobytes(size)}, installed ${kilobytes(unpackedSize)}`);
  return { packed };
}

function kilobytes(bytes) {
  return `${Math.ceil(bytes / 1000)} kB`;
}

async function describe({ root, stage, outDir, version, source, section, launchers, packed }) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const packages = await debianVersions(
    PLATFORMS.flatMap(({ debian, library }) => [...debian, library.debian]),
  );
  const libraries = PLATFORMS.map(({ arch, library }) => ({
    ...library,
    arch,
    version: packages[library.debian],
  }));
  const gateway = join(stage, 'packages/gateway');
  write(outDir, BOM, billOf({ gateway, lock, launchers, version, libraries }));
  const archives = packed.map(({ file }) => file);
  const subjects = digestsIn(outDir, [...archives, BOM]);
  const tools = await toolVersions(root);
  const about = {
    subjects,
    version,
    source,
    tools,
    packages,
    lock: sha256Of(join(root, 'package-lock.json')),
  };
  write(outDir, PROVENANCE, provenanceOf(about));
  writeFileSync(join(outDir, NOTES), notesOf({ version, section, files: subjects }));
  writeSums(outDir);
}

function write(outDir, name, document) {
  writeFileSync(join(outDir, name), `${JSON.stringify(document, null, 2)}\n`);
}

async function tryInstalled({ root, outDir }) {
  const words = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', SCENARIO];
  const env = { ...process.env, PALISADE_RELEASE: outDir };
  const { ok, output } = await run(process.execPath, words, { cwd: root, env });
  if (ok) return;
  const again = `PALISADE_RELEASE=${outDir} npx vitest run ${SCENARIO}`;
  throw new Error(
    `${output}\nCannot release: what was installed does not work. Run \`${again}\` to see it again.`,
  );
}

function readWords(words) {
  const options = {
    'dry-run': { type: 'boolean', default: false },
    out: { type: 'string', default: 'dist/release' },
  };
  try {
    return parseArgs({ args: words, options }).values;
  } catch (error) {
    throw new Error(
      `Cannot read the command line: ${error.message}. Use npm run release -- --dry-run [--out DIR].`,
    );
  }
}

async function main(words) {
  const { 'dry-run': isDry, out } = readWords(words);
  const outDir = resolve(out);
  demandOwn(outDir);
  const say = (line) => console.log(`release: ${line}`);
  const { version, packed } = await makeRelease({ root: projectRoot, outDir, isDry, say });
  const shown = relative(process.cwd(), outDir) || '.';
  say(`palisade ${version} is in ${shown}; check it with \`cd ${shown} && sha256sum -c ${SUMS}\``);
  if (isDry) return say('nothing was published: this was a dry run');
  say('to publish, in this order:');
  for (const { file } of packed) console.log(`npm publish ${join(shown, file)} --access public`);
}

/** A folder that is emptied must be one that a release made. */
function demandOwn(outDir) {
  const names = listOf(outDir);
  if (names.length === 0 || names.includes(SUMS)) return;
  throw new Error(
    `Cannot write the release to ${outDir}: it has other files. Name an empty folder with --out DIR.`,
  );
}

function listOf(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
