import { nodePrimitives } from '../../../../attest/primitives.ts';
import { CodedError } from '../../../../core/coded-error.ts';
import { readPublicKey } from '../../../../skills/trust.ts';
import { type Bound, readNamed, wrongUsage } from '../../input.ts';
import type { Printer } from '../../printer.ts';
import type { Invocation } from '../../verb.ts';

/** The text of a public key document, and the id that its bytes have. */
export type KeyFile = { readonly document: string; readonly keyId: string };

const MOST_BYTES = 64 * 1024;
const BOUND: Bound = {
  maxBytes: MOST_BYTES,
  refuse: (name) =>
    wrongUsage(`Cannot read ${name}: it has more than ${MOST_BYTES} bytes, expected a public key`),
};
const PUBLISHER = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MOST_PUBLISHER_CHARS = 32;

/** The public key that an argument names; one whose own signature does not hold is told here. */
export async function readKeyFile(invocation: Invocation, path: string): Promise<KeyFile> {
  const bytes = await readNamed(invocation, path, BOUND);
  const document = new TextDecoder().decode(bytes);
  const read = await readPublicKey(document, nodePrimitives);
  if (read.ok) return { document, keyId: read.key.keyId };
  // Boundary: a private key is never taken for a public one, and nothing of it is repeated.
  const isPrivate = document.includes('PRIVATE KEY');
  const why = isPrivate ? 'it is a private key, which nobody but its publisher may have' : read.why;
  throw new CodedError('skill/untrusted', `Cannot use "${path}" as a key: ${why}`, {
    remedy: 'Give the file FILE.pub.json that `palisade skill sign --key FILE --new-key` writes.',
  });
}

/** The publisher that an argument names. */
export function readPublisher(raw: string): string {
  if (raw.length <= MOST_PUBLISHER_CHARS && PUBLISHER.test(raw)) return raw;
  throw wrongUsage(
    `Cannot use the publisher "${raw}": expected up to ${MOST_PUBLISHER_CHARS} lower-case letters, digits and single inner -`,
  );
}

/** Prints what is to be compared with the publisher, in groups that can be read aloud. */
export function printFingerprint(print: Printer, publisher: string, keyId: string): void {
  const digits = keyId.replace(/^sha256:/, '');
  const groups = digits.match(/.{1,8}/g) ?? [];
  print.styled('bold', publisher, `  ${keyId}`);
  print.line(`fingerprint  ${groups.slice(0, 4).join(' ')}`);
  print.line(`             ${groups.slice(4).join(' ')}`);
  print.line('Compare it with what the publisher says, on another way than the one the key came on.');
}
