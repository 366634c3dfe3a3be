import { hashedRecordOf } from '../../../operations/record-document.ts';
import { findRecords } from '../records.ts';
import type { Invocation } from '../verb.ts';

export async function run({ args, print, openRecords }: Invocation): Promise<number> {
  const records = await openRecords();
  try {
    const found = findRecords(records.segments, args[0] ?? '').map(hashedRecordOf);
    if (print.json) print.document({ records: found });
    else for (const record of found) print.value(record);
    return 0;
  } finally {
    await records.close();
  }
}
