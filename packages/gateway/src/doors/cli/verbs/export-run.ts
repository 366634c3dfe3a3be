import { canonicalize } from '@palisade/sdk';
import type { Json } from '../../../core/json.ts';
import { textOf, wrongUsage } from '../input.ts';
import { writePrivateFile } from '../out-file.ts';
import { bundleOf } from '../run-bundle.ts';
import type { Invocation } from '../verb.ts';

/** Writes all that is needed to run a recorded call again elsewhere; it has inputs and answers in the clear. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, print } = invocation;
  const path = textOf(invocation, 'out');
  if (flags.force === true && path === undefined)
    throw wrongUsage('Cannot use --force: there is no --out, expected a file to be replaced');
  const records = await invocation.openRecords();
  try {
    const bundle = bundleOf(records, invocation.args[0] ?? '');
    const text = `${canonicalize(bundle as unknown as Json)}\n`;
    if (path === undefined) await print.exact(text);
    else {
      writePrivateFile(path, text, flags.force === true);
      if (print.json) print.document({ file: path });
    }
    return 0;
  } finally {
    await records.close();
  }
}
