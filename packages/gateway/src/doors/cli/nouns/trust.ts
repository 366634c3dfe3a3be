import { nodePrimitives } from '../../../attest/primitives.ts';
import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { keysOf, readPublicKey, type TrustedKey } from '../../../skills/trust.ts';
import type { Reader } from '../../../store/transaction.ts';
import { confirm, type Question, requireAnswerable } from '../ask.ts';
import { type Bound, readNamed, textOf, wrongUsage } from '../input.ts';
import { actAs } from '../opened.ts';
import { operate, operateOn } from '../operate.ts';
import type { Printer } from '../printer.ts';
import { expiryOf } from '../quantities.ts';
import type { Invocation } from '../verb.ts';

const MOST_KEY_FILE_BYTES = 64 * 1024;
const BOUND: Bound = {
  maxBytes: MOST_KEY_FILE_BYTES,
  refuse: (name) =>
    wrongUsage(`Cannot read ${name}: it has more than ${MOST_KEY_FILE_BYTES} bytes, expected a public key`),
};
const PUBLISHER = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MOST_PUBLISHER_CHARS = 32;
/** Fewer digits could match a key that is not meant. */
const LEAST_KEY_DIGITS = 8;
const KEY = /^(?:sha256:)?([0-9a-f]{1,64})$/;

export async function list(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const publisher = args[0] === undefined ? undefined : readPublisher(args[0]);
  const listed = await operate(invocation, 'listTrustedKeys', { publisher });
  return print.result(listed, () =>
    print.table(
      ['PUBLISHER', 'KEY', 'STATE', 'BY', 'ADDED', 'EXPIRES', 'WHY'],
      listed.keys.map((key) => {
        const by = key.origin === 'operator' ? key.addedBy : 'first use';
        const { addedAt, expiresAt, reason } = key;
        const when = [addedAt, expiresAt ?? 'never', reason ?? '-'];
        return [key.publisher, shortKey(key.keyId), key.state, by, ...when];
      }),
      publisher === undefined ? 'No publisher is trusted.' : `"${publisher}" has no keys.`,
    ),
  );
}

/** Trusts a key to sign for a publisher. */
export function add(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const question = { act: 'trust the key', question: 'Type the name of the publisher to trust this key' };
  return takeKey(invocation, question, async (gateway, offer) => {
    const key = await operateOn(invocation, gateway, 'trustKey', offer);
    return print.result(key, () =>
      print.note('trusted', 'green', `  ${shortKey(key.keyId)} signs for ${offer.publisher}`),
    );
  });
}

/** Trusts a new key of a publisher; earlier keys can install nothing new, and what they signed keeps running. */
export function rotate(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const question = {
    act: 'rotate the key',
    question: 'Type the name of the publisher to trust this key in place of its earlier keys',
  };
  return takeKey(invocation, question, async (gateway, offer) => {
    const rotation = await operateOn(invocation, gateway, 'rotateTrustedKey', offer);
    const { added, retired } = rotation;
    return print.result(rotation, () => {
      print.note('rotated', 'green', `  ${shortKey(added.keyId)} signs for ${offer.publisher} from now on`);
      for (const old of retired) print.note('retired', 'yellow', `  ${shortKey(old)} installs nothing new`);
    });
  });
}

/** Ends all trust in a key, for good; what it signed goes into quarantine. */
export async function revoke(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const reason = textOf(invocation, 'reason')?.trim();
  if (!reason) throw wrongUsage('Cannot revoke the key: the reason is missing, expected --reason TEXT');
  return actAs(invocation, async (gateway) => {
    const { keyId, publisher } = findKey(gateway.store, args[0] ?? '');
    const input = { publisher, keyId, reason };
    const revoked = await operateOn(invocation, gateway, 'revokeTrustedKey', input);
    return print.result(revoked, () => {
      print.note('revoked', 'red', `  ${shortKey(keyId)} of ${publisher}: ${revoked.key.reason ?? reason}`);
      for (const skill of revoked.quarantined) print.note('quarantined', 'yellow', `  ${skill}`);
    });
  });
}

type Offer = { readonly publisher: string; readonly key: string; readonly expiresAt: string | undefined };
type Take = (gateway: Opened<Gateway>, offer: Offer) => Promise<number>;

/** Shows the fingerprint of the key file, asks for the name of its publisher, and takes the key. */
async function takeKey(
  invocation: Invocation,
  about: Pick<Question, 'act' | 'question'>,
  take: Take,
): Promise<number> {
  const [raw = '', path = ''] = invocation.args;
  const publisher = readPublisher(raw);
  const expiresAtMs = expiryOf(invocation);
  const question = { ...about, answer: publisher, needs: ['yes'] } as const;
  requireAnswerable(invocation, question);
  const { document, keyId } = await readKeyFile(invocation, path);
  const expiresAt = expiresAtMs === null ? undefined : isoTime(expiresAtMs);
  return actAs(invocation, async (gateway) => {
    printFingerprint(invocation.print, publisher, keyId);
    await confirm(invocation, question);
    return take(gateway, { publisher, key: document, expiresAt });
  });
}

/** The text of a public key document, and the id that its bytes have. */
async function readKeyFile(invocation: Invocation, path: string) {
  const bytes = await readNamed(invocation, path, BOUND);
  const document = new TextDecoder().decode(bytes);
  const read = await readPublicKey(document, nodePrimitives);
  if (read.ok) return { document, keyId: read.value.keyId };
  // Boundary: a private key is never taken for a public one, and nothing of it is repeated.
  const isPrivate = document.includes('PRIVATE KEY');
  const why = isPrivate ? 'it is a private key, which only its publisher may have' : read.problem;
  throw new CodedError('skill/untrusted', `Cannot use "${path}" as a key: ${why}`, {
    remedy: 'Give the file FILE.pub.json that `palisade skill sign --key FILE --new-key` writes.',
  });
}

function readPublisher(raw: string): string {
  if (raw.length <= MOST_PUBLISHER_CHARS && PUBLISHER.test(raw)) return raw;
  throw wrongUsage(
    `Cannot use the publisher "${raw}": expected up to ${MOST_PUBLISHER_CHARS} lower-case letters, digits and single inner -`,
  );
}

/** Prints the fingerprint to compare with the publisher, in groups that can be read aloud. */
function printFingerprint(print: Printer, publisher: string, keyId: string): void {
  const digits = keyId.replace(/^sha256:/, '');
  const groups = digits.match(/.{1,8}/g) ?? [];
  print.styled('bold', publisher, `  ${keyId}`);
  print.line(`fingerprint  ${groups.slice(0, 4).join(' ')}`);
  print.line(`             ${groups.slice(4).join(' ')}`);
  print.line('Compare it with the publisher over another channel than the one that the key came by.');
}

function findKey(reader: Reader, raw: string): TrustedKey {
  const [, digits = ''] = KEY.exec(raw) ?? [];
  if (digits.length < LEAST_KEY_DIGITS)
    throw wrongUsage(
      `Cannot use "${raw}" as a key: expected its id, or at least the first ${LEAST_KEY_DIGITS} digits of it`,
    );
  const [key, other] = keysOf(reader).filter(({ keyId }) => keyId.startsWith(`sha256:${digits}`));
  // Boundary: an ambiguous id names no key; the wrong one would be revoked.
  if (other !== undefined)
    throw wrongUsage(`Cannot use "${raw}" as a key: several keys match, expected more digits`);
  if (key !== undefined) return key;
  throw new CodedError('skill/untrusted', `Cannot find the key "${raw}": no publisher has it`, {
    remedy: 'List the keys with `palisade trust list`.',
  });
}

function shortKey(keyId: string): string {
  return keyId.replace(/^sha256:/, '').slice(0, 16);
}
