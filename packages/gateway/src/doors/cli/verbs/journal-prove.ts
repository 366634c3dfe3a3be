import { proveRecord } from '../../../journal/search.ts';
import { writeOut } from '../out-file.ts';
import { endingOf, findRecords } from '../records.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [wanted = ''] = invocation.args;
  const records = await invocation.openRecords();
  try {
    const isSeq = /^[0-9]+$/.test(wanted);
    const seq = isSeq
      ? findRecords(records.segments, wanted)[0]?.seq
      : endingOf(records.segments, wanted).seq;
    await writeOut(invocation, [`${proveRecord(records, seq ?? 0)}\n`]);
    return 0;
  } finally {
    await records.close();
  }
}
