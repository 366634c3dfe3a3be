import { existsSync } from 'node:fs';
import type { EngineFacts } from '../../../core/recording.ts';
import { recordingDigest } from '../../../recordings/recordings.ts';
import { countsAlike, type Replayed, replay } from '../../../tiers/a-wasm/replay.ts';
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
    const replayed = await replay(gateway, bundle.recording, module, patience);
    const { engine = null } = bundle.recording;
    const isCounted = countsAlike(engine, replayed.engine);
    const problems = differences({ ...claim, isCounted }, replayed, recordingDigest(bundle.recording));
    const same = problems.length === 0;
    if (print.json) print.document({ ...claim, replayed, fuelCompared: isCounted, problems, same });
    else show(invocation, { ...claim, isCounted }, problems);
    if (!print.json && !isCounted) print.line(otherEngine(engine, replayed.engine));
    if (!print.json && given.format !== null) print.line(UNSIGNED);
    return problems.length === 0 ? 0 : DIFFERS;
  } finally {
    await gateway.close();
  }
}

type Compared = Claim & { readonly isCounted: boolean };

/** What is not as the receipt says, each as a sentence. */
function differences(claim: Compared, replayed: Replayed, digest: string): string[] {
  const { code, outputDigest, fuel, parting } = replayed;
  const problems: string[] = [];
  if (claim.recording !== digest)
    problems.push(`the recording is another: the receipt has ${claim.recording}, this is ${digest}`);
  if (parting?.kind === 'asks')
    problems.push(
      `at question ${parting.index + 1} it asks "${parting.asked}", expected ${parting.expected ?? 'no more'}`,
    );
  if (parting?.kind === 'ends')
    problems.push(`it ends before question ${parting.index + 1}, expected "${parting.expected}"`);
  if (claim.code !== code && !isOnlyUnfit(claim, replayed))
    problems.push(`it ended as ${code}, the receipt says ${claim.code}`);
  if (claim.outputDigest !== outputDigest)
    problems.push(
      `its output is ${outputDigest ?? 'none'}, the receipt says ${claim.outputDigest ?? 'none'}`,
    );
  if (claim.isCounted && claim.fuel !== fuel)
    problems.push(`it used ${fuel} fuel, the receipt says ${claim.fuel}`);
  return problems;
}

/** The very output that did not fit the schema of its tool then; nobody holds it against a schema now. */
function isOnlyUnfit(claim: Claim, { code, outputDigest }: Replayed): boolean {
  return claim.code === 'tier/invalid-output' && code === 'ok' && claim.outputDigest === outputDigest;
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

function otherEngine(then: EngineFacts | null, now: EngineFacts | null): string {
  return `Its fuel was not compared: it was counted by ${meterOf(then)}, here by ${meterOf(now)}.`;
}

function meterOf(engine: EngineFacts | null): string {
  if (engine === null) return 'a meter that is not known';
  const { meter, form, isDeterministic } = engine;
  return `version ${meter} of the meter (${form}, ${isDeterministic ? 'deterministic' : 'as the machine does'})`;
}
