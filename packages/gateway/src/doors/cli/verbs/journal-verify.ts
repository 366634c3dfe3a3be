import { type Check, type KeyRing, verifyJournal } from '@palisade/sdk';
import { nodePrimitives } from '../../../attest/primitives.ts';
import { exportLines, type JournalParts } from '../../../journal/search.ts';
import { type LiveReport, verifyLive } from '../../../journal/verify.ts';
import { textOf } from '../input.ts';
import { savedCheckpoint, verifyExport } from '../journal-file.ts';
import { requireKeys, trustedKeys } from '../key-ring.ts';
import { printReport } from '../report.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const file = textOf(invocation, 'file');
  if (file !== undefined) return verifyExport(invocation, file);
  const { knownCheckpoint } = await savedCheckpoint(invocation);
  requireKeys(invocation);
  const records = await invocation.openRecords();
  try {
    const keys = await trustedKeys(invocation);
    const live = await verifyLive(records, keys, nodePrimitives);
    const { ok, checks, firstBad } =
      live.ok && knownCheckpoint !== undefined ? await compare(records, keys, live, knownCheckpoint) : live;
    return printReport(invocation.print, ok, checks, { records: live.records, firstBad });
  } finally {
    // Closing would sign what may just have been found false.
    records.release();
  }
}

/** A journal that is sound in itself may still be another one, or an old one: only what was kept elsewhere tells. */
async function compare(
  records: JournalParts,
  keys: KeyRing,
  live: LiveReport,
  knownCheckpoint: Uint8Array | string,
) {
  const { ok, checks, firstBad } = await verifyJournal(
    exportLines(records, 1),
    keys,
    { knownCheckpoint },
    nodePrimitives,
  );
  const isNew = ({ name }: Check) => !live.checks.some((check) => check.name === name);
  return { ok, checks: [...live.checks, ...checks.filter(isNew)], firstBad };
}
