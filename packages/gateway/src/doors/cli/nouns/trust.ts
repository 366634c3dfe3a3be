import { nodePrimitives } from '../../../attest/primitives.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { keysOf, readPublicKey, type TrustedKey } from '../../../skills/trust.ts';
import type { Reader } from '../../../store/transaction.ts';
import { confirm, type Question, requireAnswerable } from '../ask.ts';
import { boundOf, readNamed, textOf, wrongUsage } from '../input.ts';
import { actAs } from '../opened.ts';
import { operateOn, operationVerb } from '../operate.ts';
import type { Printer } from '../printer.ts';
import { expiryOf } from '../quantities.ts';
import type { Invocation, VerbRun } from '../verb.ts';

const BOUND = boundOf(64 * 1024, ', expected a public key');
const PUBLISHER = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MOST_PUBLISHER_CHARS = 32;
/** Fewer digits could match a key that is not meant. */
const LEAST_KEY_DIGITS = 8;
const KEY = /^(?:sha256:)?([0-9a-f]{1,64})$/;

export const list = operationVerb(
  'listTrustedKeys',
  ({ args: [publisher] }) => ({ publisher: publisher === undefined ? undefined : readPublisher(publisher) }),
  ({ keys }, { args: [publisher], print }) =>
    print.table(
      ['PUBLISHER', 'KEY', 'STATE', 'BY', 'ADDED', 'EXPIRES', 'WHY'],
      keys.map((key) => {
        const by = key.origin === 'operator' ? key.addedBy : 'first use';
        const when = [key.addedAt, key.expiresAt ?? 'never', key.reason];
        return [key.publisher, shortKey(key.keyId), key.state, by, ...when];
      }),
      publisher === undefined ? 'No publisher is trusted.' : `"${publisher}" has no keys.`,
    ),
);

/** Trusts a key to sign for a publisher. */
export const add = takeKey(
  'trustKey',
  { act: 'trust the key', question: 'Type the name of the publisher to trust this key' },
  ({ publisher, keyId }, print) =>
    print.note('trusted', 'green', `  ${shortKey(keyId)} signs for ${publisher}`),
);

/** Trusts a new key of a publisher; earlier keys can install nothing new, and what they signed keeps running. */
export const rotate = takeKey(
  'rotateTrustedKey',
  {
    act: 'rotate the key',
    question: 'Type the name of the publisher to trust this key in place of its earlier keys',
  },
  ({ added, retired }, print) => {
    print.note('rotated', 'green', `  ${shortKey(added.keyId)} signs for ${added.publisher} from now on`);
    for (const old of retired) print.note('retired', 'yellow', `  ${shortKey(old)} installs nothing new`);
  },
);

/** Ends all trust in a key, for good; what it signed goes into quarantine. */
export async function revoke(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const reason = textOf(invocation, 'reason')?.trim();
  if (!reason) throw wrongUsage('Cannot revoke the key: the reason is missing, expected --reason TEXT');
  return actAs(invocation, async (gateway) => {
    const { keyId, publisher } = findKey(gateway.store, args[0] ?? '');
    const revoked = await operateOn(invocation, gateway, 'revokeTrustedKey', { publisher, keyId, reason });
    return print.result(revoked, () => {
      print.note('revoked', 'red', `  ${shortKey(keyId)} of ${publisher}: ${revoked.key.reason ?? reason}`);
      for (const skill of revoked.quarantined) print.note('quarantined', 'yellow', `  ${skill}`);
    });
  });
}

/** A verb that shows the fingerprint of the key file, asks for the name of its publisher, and takes the key. */
function takeKey<Name extends 'trustKey' | 'rotateTrustedKey'>(
  operation: Name,
  about: Pick<Question, 'act' | 'question'>,
  show: (document: ResultOf<Name>, print: Printer) => void,
): VerbRun {
  return async (invocation) => {
    const { args, print } = invocation;
    const [raw = '', path = ''] = args;
    const publisher = readPublisher(raw);
    const expiresAt = expiryOf(invocation);
    const question = { ...about, answer: publisher, needs: ['yes'] } as const;
    requireAnswerable(invocation, question);
    const { key, keyId } = await readKeyFile(invocation, path);
    return actAs(invocation, async (gateway) => {
      printFingerprint(print, publisher, keyId);
      await confirm(invocation, question);
      const taken = await operateOn(invocation, gateway, operation, { publisher, key, expiresAt });
      return print.result(taken, () => show(taken, print));
    });
  };
}

/** The text of a public key document, and the id that its bytes have. */
async function readKeyFile(invocation: Invocation, path: string) {
  const bytes = await readNamed(invocation, path, BOUND);
  const key = new TextDecoder().decode(bytes);
  const read = await readPublicKey(key, nodePrimitives);
  if (read.ok) return { key, keyId: read.value.keyId };
  // Boundary: a private key is never taken for a public one, and nothing of it is repeated.
  const isPrivate = key.includes('PRIVATE KEY');
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
  const groups = keyId.replace(/^sha256:/, '').match(/.{1,8}/g) ?? [];
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
