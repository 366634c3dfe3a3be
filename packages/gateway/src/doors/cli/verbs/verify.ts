import { detectDocument, parseKeyRing, type ReceiptOptions, verifyProof, verifyReceipt } from '@palisade/sdk';
import { nodePrimitives } from '../../../attest/primitives.ts';
import { parseStrict } from '../../../core/strict-json.ts';
import { readFileFlag, readStart, textOf, wrongUsage } from '../input.ts';
import { verifyExport } from '../journal-file.ts';
import { trustedKeys } from '../key-ring.ts';
import { printReport } from '../report.ts';
import type { Invocation } from '../verb.ts';

const RECEIPT_FLAGS = ['input', 'output', 'proof'];
const JSON_LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 256 };

/** Needs no state directory when --key is given: a stranger can run it. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [path = ''] = args;
  const kind = detectDocument(await readStart(path));
  const unused =
    kind === 'receipt' || kind === 'unknown'
      ? undefined
      : RECEIPT_FLAGS.find((name) => textOf(invocation, name) !== undefined);
  // A check that was asked for and cannot be made must not look as if it was.
  if (unused !== undefined)
    throw wrongUsage(`Cannot use --${unused} with "${path}": it is a ${kind}, expected a receipt`);
  if (kind === 'journal') return verifyExport(invocation, path);
  const text = await readFileFlag(path);
  if (kind === 'key') {
    const ring = await parseKeyRing(text, nodePrimitives);
    return printReport(print, ring.ok, [
      {
        name: 'Every key document is signed by its own key',
        ok: ring.ok,
        detail: ring.ok ? '' : `line ${ring.line}: ${ring.why}`,
      },
    ]);
  }
  const keys = await trustedKeys(invocation);
  if (kind === 'proof') {
    const { ok, checks, record } = await verifyProof(text, keys, nodePrimitives);
    return printReport(print, ok, checks, { record });
  }
  const { ok, checks, statement } = await verifyReceipt(
    text,
    keys,
    await receiptOptions(invocation),
    nodePrimitives,
  );
  return printReport(print, ok, checks, { statement });
}

async function receiptOptions(invocation: Invocation): Promise<ReceiptOptions> {
  const [input, output, proof] = RECEIPT_FLAGS.map((name) => textOf(invocation, name));
  return {
    ...(input === undefined ? {} : { input: await readJson(input) }),
    ...(output === undefined ? {} : { output: await readJson(output) }),
    ...(proof === undefined ? {} : { proof: await readFileFlag(proof) }),
  };
}

async function readJson(path: string): Promise<unknown> {
  const parsed = parseStrict(await readFileFlag(path), JSON_LIMITS);
  if (!parsed.ok) throw wrongUsage(`Cannot read "${path}": ${parsed.message}`);
  return parsed.value;
}
