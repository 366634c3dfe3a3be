/** Fuzzing as a loop: take an input that taught something, change it, judge it, keep it if it taught something new. */
import { randomNumbers } from '../fixture/choices.ts';
import { planFrom, programOf } from '../fixture/generate.ts';
import { Fault, judge, SUBJECT, type Subject, type Verdict } from './judge.ts';
import { mutate } from './mutate.ts';
import { type Random, randomFrom } from './random.ts';

export type Input = Uint8Array<ArrayBuffer>;
export type Finding = { readonly fault: Fault; readonly input: Input };

export type CampaignOptions = {
  readonly seed: number;
  readonly seeds: readonly Input[];
  readonly subject?: Subject;
  /** Told of each input before it is judged, so that an input that never comes back is known. */
  readonly before?: (input: Input) => void;
  /** Told of each input that taught something new. */
  readonly kept?: (input: Input) => void;
};

export type Campaign = {
  readonly run: (count: number) => Finding[];
  readonly totals: () => Totals;
  /** Adds an input to those that are changed further. */
  readonly keep: (input: Input, accepted: boolean) => void;
  /** Inputs of the last run that were accepted, the latest first. */
  readonly latest: (most: number) => readonly Input[];
};

type Corpus = { readonly accepted: Input[]; readonly refused: Input[] };
export type Totals = { inputs: number; accepted: number; lessons: number; faults: number; slowestMs: number };

const MOST_KEPT = 4_000;
/** Beyond this a single small input has found something quadratic. */
const SLOW_MS = 2_000;
const SLOW_TRIES = 3;

/** Small modules of every shape to begin with. */
export function generatedSeeds(seed: number, count: number): Input[] {
  const numbers = randomNumbers(seed);
  return Array.from({ length: count }, (_, at) => programOf(planFrom(numbers, 8 + (at % 8) * 12)).bytes);
}

/** A campaign that starts from `seeds`. The same seed and seeds give the same inputs. */
export function newCampaign(options: CampaignOptions): Campaign {
  const { subject = SUBJECT, before, kept } = options;
  const random = randomFrom(options.seed);
  // Children of what was accepted get far, children of what was refused find other ways to be refused.
  const corpus: Corpus = { accepted: [...options.seeds], refused: [] };
  const lessons = new Set<string>();
  const totals: Totals = { inputs: 0, accepted: 0, lessons: 0, faults: 0, slowestMs: 0 };
  let recent: Input[] = [];
  const fresh = [...options.seeds];

  function next(): Input {
    const seed = fresh.pop();
    if (seed !== undefined) return seed;
    const other = pickParent(random, corpus);
    return mutate(random, pickParent(random, corpus), other) as Input;
  }

  function keep(input: Input, accepted: boolean): void {
    const kind = accepted ? corpus.accepted : corpus.refused;
    if (kind.length < MOST_KEPT) kind.push(input);
    else kind[random.below(kind.length)] = input;
  }

  function learn(input: Input, { accepted, words }: Verdict): void {
    if (accepted) {
      totals.accepted += 1;
      recent.push(input);
    }
    if (lessons.has(words)) return;
    lessons.add(words);
    totals.lessons = lessons.size;
    if (totals.inputs <= options.seeds.length) return;
    keep(input, accepted);
    kept?.(input);
  }

  function run(count: number): Finding[] {
    const findings: Finding[] = [];
    recent = [];
    for (let left = count; left > 0; left -= 1) {
      const input = next();
      before?.(input);
      totals.inputs += 1;
      const turn = random.below(64);
      const timed = () => {
        const started = performance.now();
        learn(input, judge(input, turn, subject));
        return performance.now() - started;
      };
      try {
        let took = timed();
        // A busy machine is not a finding: what is slow is slow again.
        for (let tries = 1; took > SLOW_MS && tries < SLOW_TRIES; tries += 1) took = Math.min(took, timed());
        totals.slowestMs = Math.max(totals.slowestMs, took);
        if (took > SLOW_MS) throw new Fault('an input takes too long');
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        totals.faults += 1;
        findings.push({ fault: error, input });
      }
    }
    return findings;
  }

  return { run, totals: () => ({ ...totals }), keep, latest: (most) => recent.slice(-most).reverse() };
}

/** One to change further: mostly the smallest of a few, because a small input is judged sooner and taught the same. */
function pickParent(random: Random, corpus: Corpus): Input {
  const few = Array.from({ length: random.below(8) === 0 ? 1 : 4 }, () => pickAny(random, corpus));
  return few.reduce((smallest, each) => (each.length < smallest.length ? each : smallest));
}

/** Mostly one that was accepted, and half of the time one of the latest, which lead furthest. */
function pickAny(random: Random, { accepted, refused }: Corpus): Input {
  const kind = refused.length === 0 || (accepted.length > 0 && random.below(8) > 0) ? accepted : refused;
  const window = random.below(2) === 0 ? Math.min(kind.length, 64) : kind.length;
  const input = kind[kind.length - 1 - random.below(window)];
  if (input === undefined) throw new Error('Cannot fuzz: there is no input to begin with');
  return input;
}
