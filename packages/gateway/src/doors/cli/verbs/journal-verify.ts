import { nodePrimitives } from '../../../attest/primitives.ts';
import { verifyLive } from '../../../journal/verify.ts';
import { textOf } from '../input.ts';
import { verifyExport } from '../journal-file.ts';
import { trustedKeys } from '../key-ring.ts';
import { printReport } from '../report.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const file = textOf(invocation, 'file');
  if (file !== undefined) return verifyExport(invocation, file);
  const keys = await trustedKeys(invocation);
  const records = await invocation.openRecords();
  try {
    const { ok, checks, records: count, firstBad } = await verifyLive(records, keys, nodePrimitives);
    return printReport(invocation.print, ok, checks, { records: count, firstBad });
  } finally {
    await records.close();
  }
}
