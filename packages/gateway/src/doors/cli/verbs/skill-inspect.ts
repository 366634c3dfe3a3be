import { openNamedPackage } from '../skill/package-file.ts';
import { documentOf, printPackage } from '../skill/show-package.ts';
import type { Invocation } from '../verb.ts';

/** Looks at a package offline: no state directory is opened, so what it says of its signer is whether the bytes are signed. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const file = await openNamedPackage(invocation, args[0] ?? '');
  if (print.json) print.document(documentOf(file));
  else printPackage(print, file);
  return 0;
}
