import { OCI_LIMITS } from '../../../oci/limits.ts';
import type { RegistryHost } from '../../../oci/reference.ts';
import { askHidden, isAtTerminal } from '../ask.ts';
import { boundOf, readNamed } from '../input.ts';
import type { Invocation } from '../verb.ts';

/**
 * The log-in that --login asks for: from the terminal without an echo, else from standard input; never from the command
 * line, which others can read. Without the flag, that of the vault is used where the registry requires one.
 */
export async function readLogin(
  invocation: Invocation,
  { text }: RegistryHost,
): Promise<{ readonly login?: string }> {
  if (invocation.flags.login !== true) return {};
  if (isAtTerminal(invocation))
    return { login: await askHidden(invocation, `Log-in of ${text}, as USER:PASSWORD`) };
  const bytes = await readNamed(invocation, '-', boundOf(OCI_LIMITS.loginChars));
  return {
    login: Buffer.from(bytes)
      .toString('utf8')
      .replace(/\r?\n$/, ''),
  };
}
