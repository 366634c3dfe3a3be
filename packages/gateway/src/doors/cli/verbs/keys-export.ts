import { writeOut } from '../out-file.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const records = await invocation.openRecords();
  try {
    await writeOut(invocation, [records.keys.export()]);
    return 0;
  } finally {
    await records.close();
  }
}
