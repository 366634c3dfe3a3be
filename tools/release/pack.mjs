/** Packs the packages of a release and digests what is in it. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../command.mjs';

/** The digests of all files of a release, as `sha256sum -c` reads them. */
export const SUMS = 'SHA256SUMS';

/** Packs each folder into an archive in `outDir`, whose bytes depend on its files alone; gives their names in order. */
export async function packAll(folders, outDir) {
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', outDir, ...folders];
  const { ok, output } = await run('npm', words, { cwd: outDir });
  if (!ok) throw new Error(`Cannot pack the release: npm pack failed\n${output}`);
  const packed = JSON.parse(output.slice(output.search(/^[[{]/m)));
  const rows = Array.isArray(packed) ? packed : Object.values(packed);
  return rows.map(({ filename, unpackedSize, size, name }) => ({
    name,
    // npm before version 9 gives the name of the package here.
    file: filename.replace('@', '').replace('/', '-'),
    size,
    unpackedSize,
  }));
}

/** The digests of files in a folder, by name. */
export function digestsIn(outDir, names) {
  const digest = (name) =>
    createHash('sha256')
      .update(readFileSync(join(outDir, name)))
      .digest('hex');
  return names.map((name) => ({ name, sha256: digest(name) }));
}

/** Writes the digests of everything that is in the folder. */
export function writeSums(outDir) {
  const names = readdirSync(outDir).filter((name) => name !== SUMS);
  const lines = digestsIn(outDir, names.sort()).map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  writeFileSync(join(outDir, SUMS), lines.join(''));
}
