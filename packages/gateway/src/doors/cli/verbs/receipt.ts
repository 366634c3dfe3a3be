import { canonicalize } from '@palisade/sdk';
import { recordOf } from '../../../operations/record-document.ts';
import { writeOut } from '../out-file.ts';
import { endingOf } from '../records.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, flags, print } = invocation;
  const records = await invocation.openRecords();
  try {
    const { envelope } = recordOf(endingOf(records.segments, args[0] ?? '')).body as {
      envelope: { payload: string };
    };
    if (flags.decode === true) {
      const statement: unknown = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8'));
      if (print.json) print.document(statement);
      else print.value(statement);
    } else {
      await writeOut(invocation, [
        flags.out === undefined ? `${canonicalize(envelope)}\n` : canonicalize(envelope),
      ]);
    }
    return 0;
  } finally {
    await records.close();
  }
}
