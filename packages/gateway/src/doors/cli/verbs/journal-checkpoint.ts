import { writeOut } from '../out-file.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const records = await invocation.openRecords();
  try {
    const { envelope } = records.store.transact((tx) => records.journal.checkpoint(tx));
    const file = await writeOut(invocation, [`${envelope}\n`]);
    if (file !== null)
      invocation.print.note(
        '→',
        'cyan',
        ` keep it where the gateway cannot write; later: palisade journal verify --checkpoint ${file}`,
      );
    return 0;
  } finally {
    await records.close();
  }
}
