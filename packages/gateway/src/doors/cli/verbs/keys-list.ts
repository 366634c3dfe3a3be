import { keyRows } from '../../../operations/keys.ts';
import type { Invocation } from '../verb.ts';

export async function run({ print, openRecords }: Invocation): Promise<number> {
  const records = await openRecords();
  try {
    const keys = keyRows(records.keys);
    if (print.json) print.document({ keys });
    else {
      print.table(
        ['KEY', 'SIGNS NOW', 'CREATED', 'RETIRED'],
        keys.map(({ keyId, isCurrent, createdAt, retiredAt }) => [
          keyId,
          isCurrent ? 'yes' : 'no',
          createdAt,
          retiredAt ?? '-',
        ]),
      );
    }
    return 0;
  } finally {
    await records.close();
  }
}
