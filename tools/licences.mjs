/** Which packages have code in a bundle, from what the bundler reports, and the texts that their licences require. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The texts, for people. */
export const LICENCES = 'THIRD-PARTY-LICENSES';
/** The names, for the bill of materials of a release. */
export const BUNDLED = '.bundled.json';

/** The packages whose files are among the inputs, without our own, each with its licence. */
export function bundledPackages(root, metafiles) {
  const inputs = metafiles.flatMap(({ inputs: each }) => Object.keys(each));
  const folders = inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const found = [...new Set(folders)]
    .filter((folder) => folder !== undefined)
    .map((each) => read(root, each));
  const known = new Map(found.map((each) => [`${each.name} ${each.version}`, each]));
  return [...known.keys()].sort().map((key) => known.get(key));
}

function read(root, folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const files = readdirSync(join(root, folder)).filter((each) => /^(licen[cs]e|notice|copying)/i.test(each));
  const texts = files.sort().map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  if (texts.length === 0)
    throw new Error(`Cannot bundle ${name} ${version}: its package has no text of its licence (${license})`);
  return { name, version, license, text: texts.join('\n\n') };
}

/** Writes both files into the folder of the build. */
export function writeLicences(outDir, packages) {
  const texts = packages.map(
    ({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`,
  );
  writeFileSync(join(outDir, LICENCES), texts.join(`\n${'-'.repeat(80)}\n\n`));
  const names = packages.map(({ name, version, license }) => ({ name, version, license }));
  writeFileSync(join(outDir, BUNDLED), `${JSON.stringify(names, null, 2)}\n`);
}
