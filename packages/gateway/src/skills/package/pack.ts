import { toUtf8 } from '@palisade/sdk';
import { sortEntries, writeArchive } from './archive.ts';
import { makeBom } from './bom.ts';
import { digestsOf } from './digests.ts';
import { makeProvenance } from './provenance.ts';
import { readSkill } from './read-skill.ts';
import { type Entries, PACKAGE_FILES } from './skill-package.ts';

/** The files of an earlier package that are made anew, or have to be. */
const MADE: ReadonlySet<string> = new Set([
  PACKAGE_FILES.bom,
  PACKAGE_FILES.provenance,
  PACKAGE_FILES.key,
  PACKAGE_FILES.signature,
]);

/** The unsigned package of a folder's files, with what is made of them; the same files give the same bytes anywhere. */
export function packSkill(files: Entries, { palisade }: { readonly palisade: string }): Uint8Array {
  const entries = sortEntries([...files].filter(([path]) => !MADE.has(path)));
  const manifest = readSkill(entries);
  const digests = digestsOf(entries);
  return writeArchive(
    new Map([
      ...entries,
      [PACKAGE_FILES.bom, toUtf8(makeBom({ entries, digests }, manifest, palisade))],
      [PACKAGE_FILES.provenance, toUtf8(makeProvenance(digests, manifest, palisade))],
    ]),
  );
}
