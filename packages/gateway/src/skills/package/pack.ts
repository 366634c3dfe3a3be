import { sign } from 'node:crypto';
import { encodeEnvelope, preAuthEncoding, toUtf8 } from '@palisade/sdk';
import { documentOf, type SigningKey } from '../../attest/key-files.ts';
import { readArchive, sortEntries, writeArchive } from './archive.ts';
import { makeBom } from './bom.ts';
import { readSkill, requireMade } from './open-package.ts';
import { makeProvenance } from './provenance.ts';
import { encodeStatement, PACKAGE_PAYLOAD_TYPE } from './signature.ts';
import { digestsOf, type Entries, PACKAGE_FILES } from './skill-package.ts';

/** The files of an earlier package that are generated again. */
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

/** The same package, signed by this key and by no other. The same package and key give the same bytes. */
export function signPackage(bytes: Uint8Array, key: SigningKey): Uint8Array {
  const unsigned = new Map(readArchive(bytes));
  unsigned.delete(PACKAGE_FILES.signature);
  unsigned.set(PACKAGE_FILES.key, toUtf8(documentOf(key, null)));
  const entries = sortEntries(unsigned);
  const manifest = readSkill(entries);
  requireMade(entries);
  const payload = encodeStatement({ entries, digests: digestsOf(entries) }, manifest);
  const signature = sign(null, preAuthEncoding(PACKAGE_PAYLOAD_TYPE, payload), key.privateKey);
  const envelope = encodeEnvelope(PACKAGE_PAYLOAD_TYPE, payload, key.keyId, signature);
  return writeArchive(new Map([...entries, [PACKAGE_FILES.signature, toUtf8(envelope)]]));
}
