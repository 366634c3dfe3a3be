import { sign } from 'node:crypto';
import { encodeEnvelope, preAuthEncoding, toUtf8 } from '@palisade/sdk';
import { documentOf, type SigningKey } from '../../attest/key-files.ts';
import { readArchive, sortEntries, writeArchive } from './archive.ts';
import { digestsOf } from './digests.ts';
import { readSkill, requireMade } from './read-skill.ts';
import { PACKAGE_FILES } from './skill-package.ts';
import { encodeStatement } from './statement.ts';
import { PACKAGE_PAYLOAD_TYPE } from './verify-signer.ts';

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
