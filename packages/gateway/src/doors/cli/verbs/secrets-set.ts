import { MIN_SCRUBBED_BYTES } from '../../../vault/scrub.ts';
import { checkName, formatScope, MAX_VALUE_BYTES } from '../../../vault/secret.ts';
import { administerVault, noteLock, scopeOf, unlock } from '../administered-vault.ts';
import { askHidden, isAtTerminal } from '../ask-hidden.ts';
import { type Bound, readNamed, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

/** The longest value and a line end, so that the vault itself refuses the value that is too long. */
const BOUND: Bound = {
  maxBytes: MAX_VALUE_BYTES + 2,
  refuse: () =>
    wrongUsage(
      `Cannot use the value of the secret: it has over ${MAX_VALUE_BYTES} bytes, expected 1 to ${MAX_VALUE_BYTES} bytes`,
    ),
};

export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [name = ''] = args;
  // Before anybody types a value for a name that cannot be used.
  checkName(name);
  const scope = scopeOf(invocation);
  return administerVault(invocation, async (administered) => {
    const { vault, by } = administered;
    await unlock(invocation, vault);
    const value = await readValue(invocation, name);
    const { version, bytes } = await vault.set(name, scope, value, by);
    if (print.json) print.document({ name, scope: formatScope(scope), version, bytes });
    else print.note('set', 'green', `  ${name} (${formatScope(scope)}), version ${version}, ${bytes} bytes`);
    if (bytes < MIN_SCRUBBED_BYTES && !print.json) {
      print.note('!', 'yellow', ` it is so short that it cannot be taken out of what tools print`);
    }
    noteLock(invocation, administered);
    return 0;
  });
}

/** From the terminal without an echo, else from standard input; never from the command line, which others can read. */
async function readValue(invocation: Invocation, name: string): Promise<Uint8Array> {
  if (isAtTerminal(invocation)) return Buffer.from(await askHidden(invocation, `Value of ${name}`));
  const bytes = Buffer.from(await readNamed(invocation, '-', BOUND));
  if (invocation.flags.exact === true) return bytes;
  // What `echo` and editors put behind the last line is not meant.
  const end = bytes.at(-1) !== 0x0a ? 0 : bytes.at(-2) === 0x0d ? 2 : 1;
  return bytes.subarray(0, bytes.length - end);
}
