import type { Invocation } from '../verb.ts';

type Shown = { readonly createdAt: string; readonly retiredAt: string | null };

export async function run({ print, openRecords }: Invocation): Promise<number> {
  const records = await openRecords();
  try {
    const keys = records.keys.list().map(({ keyId, isCurrent, document }) => {
      const { createdAt, retiredAt } = JSON.parse(document) as Shown;
      return { keyId, isCurrent, createdAt, retiredAt };
    });
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
