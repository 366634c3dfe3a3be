import { type JournalOptions, linesOf, MalformedLine, verifyJournal } from '@palisade/sdk';
import { nodePrimitives } from '../../attest/primitives.ts';
import { openNamed, readFileFlag, textOf, wrongUsage } from './input.ts';
import { trustedKeys } from './key-ring.ts';
import { printReport } from './report.ts';
import type { Invocation } from './verb.ts';

/** Verifies an export of any size, line by line. */
export async function verifyExport(invocation: Invocation, path: string): Promise<number> {
  const keys = await trustedKeys(invocation);
  const options = await savedCheckpoint(invocation);
  try {
    const file = await openNamed(path);
    try {
      const lines = linesOf(file.createReadStream({ autoClose: false }) as AsyncIterable<Uint8Array>);
      const { ok, checks, records, firstBad } = await verifyJournal(lines, keys, options, nodePrimitives);
      return printReport(invocation.print, ok, checks, { records, firstBad });
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof MalformedLine) {
      return printReport(invocation.print, false, [
        { name: 'The export is made of lines', ok: false, detail: error.message },
      ]);
    }
    throw wrongUsage(`Cannot read "${path}": ${(error as Error).message}`);
  }
}

/** The checkpoint of --checkpoint, as the verifier wants it. */
export async function savedCheckpoint(invocation: Invocation): Promise<JournalOptions> {
  const path = textOf(invocation, 'checkpoint');
  return path === undefined ? {} : { knownCheckpoint: await readFileFlag(path) };
}
