import { exportLines } from '../../../journal/search.ts';
import { numberOf } from '../input.ts';
import { writeOut } from '../out-file.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const first = numberOf(invocation, 'from', { min: 1, max: Number.MAX_SAFE_INTEGER, absent: 1 });
  const records = await invocation.openRecords();
  try {
    const file = await writeOut(invocation, withLineFeeds(exportLines(records, first)));
    if (file !== null)
      invocation.print.note('→', 'cyan', ` palisade verify ${file} --key KEYS   (from palisade keys export)`);
    return 0;
  } finally {
    await records.close();
  }
}

function* withLineFeeds(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}
