import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Check,
  CODES,
  detectDocument,
  type JournalOptions,
  type KeyRing,
  linesOf,
  MalformedLine,
  parseKeyRing,
  type ReceiptOptions,
  verifyJournal,
  verifyProof,
  verifyReceipt,
} from '@palisade/sdk';
import { Keys } from '../../../attest/keys.ts';
import { nodePrimitives } from '../../../attest/primitives.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { parseStrict } from '../../../core/strict-json.ts';
import { exportLines, type JournalParts } from '../../../journal/search.ts';
import { type LiveReport, verifyLive } from '../../../journal/verify.ts';
import { storeErrorOf } from '../../../store/fault-of.ts';
import { readFileFlag, readStart, textOf, withNamed, wrongUsage } from '../input.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/*
 * Verification of files: receipts, proofs, key files and journal exports, by the verifier of the SDK. With --key nothing
 * of a state directory is read, so an auditor can run it anywhere.
 */

const RECEIPT_FLAGS = ['input', 'output', 'proof'];
const JSON_LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 256 };

export async function verify(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [path = ''] = args;
  const kind = detectDocument(await readStart(path));
  const unused =
    kind === 'receipt' || kind === 'unknown'
      ? undefined
      : RECEIPT_FLAGS.find((name) => textOf(invocation, name) !== undefined);
  // A check that was requested and cannot be made must not look as if it was made.
  if (unused !== undefined)
    throw wrongUsage(`Cannot use --${unused} with "${path}": it is a ${kind}, expected a receipt`);
  if (kind === 'journal') return verifyExport(invocation, path);
  const text = await readFileFlag(path);
  if (kind === 'key') {
    const ring = await parseKeyRing(text, nodePrimitives);
    const detail = ring.ok ? '' : `line ${ring.line}: ${ring.why}`;
    const name = 'Every key document is signed by its own key';
    return printReport(print, { ok: ring.ok, checks: [{ name, ok: ring.ok, detail }] });
  }
  const keys = await trustedKeys(invocation);
  if (kind === 'proof') return printReport(print, await verifyProof(text, keys, nodePrimitives));
  const options = await receiptOptions(invocation);
  return printReport(print, await verifyReceipt(text, keys, options, nodePrimitives));
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

/** Verifies a journal export of any size, line by line. */
async function verifyExport(invocation: Invocation, path: string): Promise<number> {
  const keys = await trustedKeys(invocation);
  const options = await savedCheckpoint(invocation);
  return withNamed(path, async (file) => {
    const lines = linesOf(file.createReadStream({ autoClose: false }) as AsyncIterable<Uint8Array>);
    try {
      return printReport(invocation.print, await verifyJournal(lines, keys, options, nodePrimitives));
    } catch (error) {
      if (!(error instanceof MalformedLine)) throw error;
      const check = { name: 'The export is made of lines', ok: false, detail: error.message };
      return printReport(invocation.print, { ok: false, checks: [check] });
    }
  });
}

async function savedCheckpoint(invocation: Invocation): Promise<JournalOptions> {
  const path = textOf(invocation, 'checkpoint');
  return path === undefined ? {} : { knownCheckpoint: await readFileFlag(path) };
}

/** The keys to trust: those of --key, else those of the state directory. */
export async function trustedKeys(invocation: Invocation): Promise<KeyRing> {
  const path = textOf(invocation, 'key');
  const text = path === undefined ? ownKeys(invocation) : await readFileFlag(path);
  const ring = await parseKeyRing(text, nodePrimitives);
  if (ring.ok) return ring.keys;
  const whose = path ?? 'the state directory';
  const message = `Cannot trust the keys of ${whose}: ${ring.why} (line ${ring.line})`;
  throw new CodedError('attest/unverified', message);
}

/** Refuses a state directory without keys: opening it would make a new key, which has signed nothing. */
function requireKeys(invocation: Invocation): void {
  if (textOf(invocation, 'key') !== undefined || existsSync(keyDirectory(invocation))) return;
  const { path } = invocation.stateDir;
  throw wrongUsage(`Cannot find keys to trust: "${path}" has none, expected --key FILE`);
}

/** Boundary: the files are read as they are. Opening and closing the records would sign what is still to be verified. */
function ownKeys(invocation: Invocation): string {
  requireKeys(invocation);
  const directory = keyDirectory(invocation);
  try {
    return new Keys(directory).export();
  } catch (error) {
    throw storeErrorOf(error, `read the keys in "${directory}"`);
  }
}

function keyDirectory({ stateDir }: Invocation): string {
  return join(stateDir.path, 'keys');
}

type Report = { readonly ok: boolean; readonly checks: readonly Check[] };

function printReport(print: Printer, report: Report): number {
  const { ok, checks } = report;
  print.result(report, () => {
    for (const check of checks) {
      const detail = check.detail === '' ? '' : `: ${check.detail}`;
      print.styled(check.ok ? 'green' : 'red', check.ok ? '✓ ' : '✗ ', `${check.name}${detail}`);
    }
    if (ok) print.styled('green', 'verified');
    else print.styled('red', 'NOT VERIFIED', '  do not rely on it');
  });
  return ok ? 0 : CODES['attest/unverified'].exitStatus;
}

/** Verifies the journal of the state directory, or an export of one. */
export async function journalVerify(invocation: Invocation): Promise<number> {
  const file = textOf(invocation, 'file');
  if (file !== undefined) return verifyExport(invocation, file);
  const { knownCheckpoint } = await savedCheckpoint(invocation);
  requireKeys(invocation);
  const records = await invocation.openRecords();
  try {
    const keys = await trustedKeys(invocation);
    const live = await verifyLive(records, keys, nodePrimitives);
    const isCompared = live.ok && knownCheckpoint !== undefined;
    const report = isCompared ? await compare(records, keys, live, knownCheckpoint) : live;
    return printReport(invocation.print, report);
  } finally {
    // Closing would sign what may just have been found false.
    records.release();
  }
}

/** A journal that is sound in itself may still be another or an older one: only a checkpoint from elsewhere tells. */
async function compare(
  records: JournalParts,
  keys: KeyRing,
  live: LiveReport,
  knownCheckpoint: Uint8Array | string,
) {
  const lines = exportLines(records, 1);
  const { ok, checks, firstBad } = await verifyJournal(lines, keys, { knownCheckpoint }, nodePrimitives);
  const isNew = ({ name }: Check) => !live.checks.some((check) => check.name === name);
  return { ok, checks: [...live.checks, ...checks.filter(isNew)], records: live.records, firstBad };
}
