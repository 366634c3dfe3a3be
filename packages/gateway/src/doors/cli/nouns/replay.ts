import { existsSync } from 'node:fs';
import { canonicalize } from '@palisade/sdk';
import { quote } from '../../../core/hostile-text.ts';
import type { Json } from '../../../core/json.ts';
import type { EngineFacts } from '../../../core/recording.ts';
import { recordingDigest } from '../../../recordings/recordings.ts';
import { countsAlike, type Replayed, replay } from '../../../tiers/a-wasm/replay.ts';
import { textOf, wrongUsage } from '../input.ts';
import { withGateway, withRecords } from '../opened.ts';
import type { Opening } from '../operate.ts';
import { writePrivateFile } from '../out-file.ts';
import { bundleOf, type Claim, claimOf, type RunBundle, readBundle } from '../run-bundle.ts';
import type { Invocation } from '../verb.ts';
import { receiptOf } from './journal.ts';

/** The exit status where the call did not end as the receipt says. */
const DIFFERS = 1;

/** For a file from elsewhere: that it is consistent does not prove who made it. */
const UNSIGNED = 'The signature of the receipt was not checked; run `palisade verify`.';

/** Runs a recorded call again and compares how it ends with its receipt. */
export async function replayCall(invocation: Invocation): Promise<number> {
  const { args, print, signal } = invocation;
  const [what = ''] = args;
  if (/[./]/.test(what) && !existsSync(what))
    throw wrongUsage(`Cannot read ${quote(what)}: no such file, expected a receipt or an exported run`);
  return withGateway(invocation, async (gateway) => {
    const given = existsSync(what)
      ? await readBundle(invocation, what)
      : ({ format: null, call: what } as const);
    const bundle = given.format === null ? await ownBundle(invocation, gateway, given.call) : given;
    const claim = claimOf(bundle.envelope);
    const module = Buffer.from(bundle.module, 'base64');
    // Boundary: no replay takes longer than a call could, whatever its file says.
    const patience = AbortSignal.any([signal, AbortSignal.timeout(gateway.config.ceilings.wallMs)]);
    const replayed = await replay(gateway, bundle.recording, module, patience);
    const { engine = null } = bundle.recording;
    const isCounted = countsAlike(engine, replayed.engine);
    const problems = differences({ ...claim, isCounted }, replayed, recordingDigest(bundle.recording));
    const same = problems.length === 0;
    print.result({ ...claim, replayed, fuelCompared: isCounted, problems, same }, () => {
      show(invocation, { ...claim, isCounted }, problems);
      const [then, now] = [engine, replayed.engine].map(meterOf);
      if (!isCounted) print.line(`The fuel was not compared: it was counted by ${then}, here by ${now}.`);
      if (given.format !== null) print.line(UNSIGNED);
    });
    return same ? 0 : DIFFERS;
  });
}

/** The bundle of a call of this state directory. */
async function ownBundle(invocation: Invocation, opened: Opening, call: string): Promise<RunBundle> {
  return bundleOf(opened.store, call, await receiptOf(invocation, opened, call));
}

type Compared = Claim & { readonly isCounted: boolean };

function differences(claim: Compared, replayed: Replayed, digest: string): string[] {
  const { code, outputDigest, fuel, parting } = replayed;
  const problems: string[] = [];
  if (claim.recording !== digest)
    problems.push(`the recording differs: the receipt has ${claim.recording}, this is ${digest}`);
  if (parting?.kind === 'asks')
    problems.push(
      `host call ${parting.index + 1} is "${parting.asked}", expected ${parting.expected ?? 'no more'}`,
    );
  if (parting?.kind === 'ends')
    problems.push(`it ends before host call ${parting.index + 1}, expected "${parting.expected}"`);
  // The same output that did not match the schema of its tool then; a replay checks no schema.
  const isOnlyInvalid = claim.code === 'tier/invalid-output' && code === 'ok';
  if (claim.code !== code && !(isOnlyInvalid && claim.outputDigest === outputDigest))
    problems.push(`it ended as ${code}, the receipt says ${claim.code}`);
  if (claim.outputDigest !== outputDigest)
    problems.push(
      `its output is ${outputDigest ?? 'none'}, the receipt says ${claim.outputDigest ?? 'none'}`,
    );
  if (claim.isCounted && claim.fuel !== fuel)
    problems.push(`it used ${fuel} fuel, the receipt says ${claim.fuel}`);
  return problems;
}

function show({ print }: Invocation, claim: Compared, problems: readonly string[]): void {
  const { call, code, fuel, isCounted } = claim;
  if (problems.length === 0) {
    const output = isCounted ? `the same output and ${fuel} fuel` : 'the same output';
    print.styled('green', 'same', `  ${call}: ${code}, ${output}`);
    return;
  }
  print.styled('red', 'differs', `  ${call}`);
  for (const problem of problems) print.line(`- ${problem}`);
}

function meterOf(engine: EngineFacts | null): string {
  if (engine === null) return 'an unknown meter';
  const { meter, form, isDeterministic } = engine;
  return `version ${meter} of the meter (${form}, ${isDeterministic ? 'deterministic' : 'not deterministic'})`;
}

/** Writes what a replay elsewhere needs; inputs and results of host calls are in it in the clear. */
export async function exportRun(invocation: Invocation): Promise<number> {
  const { flags, print } = invocation;
  const path = textOf(invocation, 'out');
  if (flags.force === true && path === undefined)
    throw wrongUsage('Cannot use --force: --out is missing, expected a file to replace');
  return withRecords(invocation, async (records) => {
    const bundle = await ownBundle(invocation, records, invocation.args[0] ?? '');
    const text = `${canonicalize(bundle as unknown as Json)}\n`;
    if (path === undefined) await print.exact(text);
    else {
      writePrivateFile(path, text, flags.force === true);
      if (print.json) print.document({ file: path });
    }
    return 0;
  });
}
