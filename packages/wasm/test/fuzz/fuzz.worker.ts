/**
 * One process of the fuzzer, started by tools/fuzz.mjs. Before an input is judged it is written to a file, so that the
 * parent knows which one it was when this process hangs or V8 takes it down.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { generatedSeeds, type Input, newCampaign } from './campaign.ts';
import { watchCoverage } from './coverage.ts';
import { Fault, judge } from './judge.ts';
import { minimize } from './minimize.ts';

type Order = {
  readonly seed: number;
  /** How many inputs, and until when at most. */
  readonly count: number;
  readonly deadline: number;
  /** Where the corpus and the faults are kept. */
  readonly folder: string;
  /** The file that holds the current input: its length in four bytes, then its bytes. */
  readonly record: string;
  /** Real modules to begin with. */
  readonly modules: readonly string[];
};

const BATCH = 250;
const LARGE_EVERY = 40 * BATCH;
const REPORT_MS = 1_000;
const SEEDS = 300;
/** Larger modules are judged as they are; their children would take too long. */
const MOST_SEED_BYTES = 20_000;
const MOST_KEPT_OF_BATCH = 6;
const HEAD_BYTES = 4;
const SHORT_STACK = 1;

const order: Order = JSON.parse(process.argv[2] ?? '{}');
const corpus = join(order.folder, 'corpus');
const faults = join(order.folder, 'faults');
for (const folder of [corpus, faults]) mkdirSync(folder, { recursive: true });

function recorder(path: string): (input: Input) => void {
  const file = openSync(path, 'w');
  const head = Buffer.alloc(HEAD_BYTES);
  return (input) => {
    head.writeUInt32LE(input.length);
    writeSync(file, input, 0, input.length, HEAD_BYTES);
    writeSync(file, head, 0, HEAD_BYTES, 0);
  };
}

function read(path: string): Input {
  return new Uint8Array(readFileSync(path));
}

function nameOf(input: Input): string {
  return createHash('sha256').update(input).digest('hex').slice(0, 16);
}

/** Messages without numbers: two faults with the same words are one. */
function wordsOf(fault: Fault): string {
  return fault.message.replace(/\d+/g, '#').slice(0, 160);
}

/** The fault of these words that an input leads to, in whichever form. */
function faultOf(input: Input, words: string): Fault | undefined {
  for (const turn of [0, 8, 1, 2, 3]) {
    try {
      judge(input, turn);
    } catch (error) {
      if (error instanceof Fault && wordsOf(error) === words) return error;
    }
  }
  return undefined;
}

const known = new Set<string>();

function save(found: Fault, input: Input): void {
  const words = wordsOf(found);
  if (known.has(words)) return;
  known.add(words);
  const smallest = minimize(input, (smaller) => faultOf(smaller, words) !== undefined);
  // Refusals are many, and writing down where each was thrown takes time; for a fault it is worth it.
  Error.stackTraceLimit = 20;
  const fault = faultOf(smallest, words) ?? found;
  Error.stackTraceLimit = SHORT_STACK;
  const path = join(faults, `fault-${nameOf(smallest)}`);
  writeFileSync(`${path}.wasm`, smallest);
  writeFileSync(`${path}.txt`, `${fault.message}\n${String(fault.cause ?? '')}\n`);
  process.send?.({ kind: 'fault', message: fault.message, path: `${path}.wasm` });
}

Error.stackTraceLimit = SHORT_STACK;
const record = recorder(order.record);
const kept = readdirSync(corpus).map((name) => read(join(corpus, name)));
const real = order.modules.map(read);
const large = real.filter(({ length }) => length > MOST_SEED_BYTES);
const campaign = newCampaign({
  seed: order.seed,
  seeds: [
    ...generatedSeeds(order.seed, SEEDS),
    ...real.filter(({ length }) => length <= MOST_SEED_BYTES),
    ...kept,
  ],
  before: record,
  kept: (input) => writeFileSync(join(corpus, nameOf(input)), input),
});
const coverage = watchCoverage(import.meta.url);

/** Judges one of the large modules as it is, now and then, so that they do not take up a short run. */
function judgeLarge(): void {
  const isDue = campaign.totals().inputs % LARGE_EVERY === 0;
  const input = isDue ? large.pop() : undefined;
  if (input === undefined) return;
  record(input);
  try {
    judge(input);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    save(error, input);
  }
}

function report(kind: 'totals' | 'done'): void {
  process.send?.({ kind, totals: campaign.totals() });
}

let reported = 0;
function turn(): void {
  judgeLarge();
  const left = order.count - campaign.totals().inputs;
  for (const { fault, input } of campaign.run(Math.min(BATCH, left))) save(fault, input);
  // A batch that reached new code leaves some of its inputs for more.
  if (coverage.news() > 0)
    for (const input of campaign.latest(MOST_KEPT_OF_BATCH)) campaign.keep(input, true);
  const now = Date.now();
  if (campaign.totals().inputs >= order.count || now > order.deadline) {
    report('done');
    process.disconnect?.();
    return;
  }
  if (now - reported > REPORT_MS) {
    reported = now;
    report('totals');
  }
  setImmediate(turn);
}
turn();
