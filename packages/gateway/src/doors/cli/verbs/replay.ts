import { existsSync } from 'node:fs';
import { recordingDigest } from '../../../recordings/recordings.ts';
import { type Replayed, replay } from '../../../tiers/a-wasm/replay.ts';
import { bundleOf, type Claim, claimOf, type RunBundle, readBundle } from '../run-bundle.ts';
import type { Invocation } from '../verb.ts';

/** It did not end as the receipt says. */
const DIFFERS = 1;

/** Of a file that somebody gave: that it fits together says nothing of who made it. */
const UNSIGNED = 'The signature of its receipt was not looked at; `palisade verify` does that.';

/** Runs a recorded call again and says whether it ends as its receipt says. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print, signal } = invocation;
  const [what = ''] = args;
  const gateway = await invocation.openGateway();
  try {
    const given = existsSync(what) ? await readBundle(invocation, what) : { format: null, call: what };
    const bundle: RunBundle = given.format === null ? bundleOf(gateway, given.call) : (given as RunBundle);
    const claim = claimOf(bundle.envelope);
    const module = Buffer.from(bundle.module, 'base64');
    // Boundary: no run takes longer than a call could, whatever its file says.
    const patience = AbortSignal.any([signal, AbortSignal.timeout(gateway.config.ceilings.wallMs)]);
    const replayed = await replay(gateway.engines, bundle.recording, module, patience);
    const problems = differences(claim, replayed, recordingDigest(bundle.recording));
    if (print.json) print.document({ ...claim, replayed, problems, same: problems.length === 0 });
    else show(invocation, claim, problems);
    if (!print.json && given.format !== null) print.line(UNSIGNED);
    return problems.length === 0 ? 0 : DIFFERS;
  } finally {
    await gateway.close();
  }
}

/** What is not as the receipt says, each as a sentence. */
function differences(
  claim: Claim,
  { code, outputDigest, fuel, parting }: Replayed,
  digest: string,
): string[] {
  const problems: string[] = [];
  if (claim.recording !== digest)
    problems.push(`the recording is another: the receipt has ${claim.recording}, this is ${digest}`);
  if (parting?.kind === 'asks')
    problems.push(
      `at question ${parting.index + 1} it asks "${parting.asked}", expected ${parting.expected ?? 'no more'}`,
    );
  if (parting?.kind === 'ends')
    problems.push(`it ends before question ${parting.index + 1}, expected "${parting.expected}"`);
  if (claim.code !== code) problems.push(`it ended as ${code}, the receipt says ${claim.code}`);
  if (claim.outputDigest !== outputDigest)
    problems.push(
      `its output is ${outputDigest ?? 'none'}, the receipt says ${claim.outputDigest ?? 'none'}`,
    );
  if (claim.fuel !== fuel) problems.push(`it used ${fuel} fuel, the receipt says ${claim.fuel}`);
  return problems;
}

function show({ print }: Invocation, { call, code, fuel }: Claim, problems: readonly string[]): void {
  if (problems.length === 0) {
    print.styled('green', 'same', `  ${call}: ${code}, the same output and ${fuel} fuel`);
    return;
  }
  print.styled('red', 'differs', `  ${call}`);
  for (const problem of problems) print.line(`- ${problem}`);
}
