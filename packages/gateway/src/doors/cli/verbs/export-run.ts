import { canonicalize } from '@palisade/sdk';
import type { Json } from '../../../core/json.ts';
import { writeOut } from '../out-file.ts';
import { bundleOf } from '../run-bundle.ts';
import type { Invocation } from '../verb.ts';

/** Writes all that is needed to run a recorded call again elsewhere. */
export async function run(invocation: Invocation): Promise<number> {
  const records = await invocation.openRecords();
  try {
    const bundle = bundleOf(records, invocation.args[0] ?? '');
    await writeOut(invocation, [`${canonicalize(bundle as unknown as Json)}\n`]);
    return 0;
  } finally {
    await records.close();
  }
}
