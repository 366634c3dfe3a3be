import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { CEILINGS } from '../packages/wasm/src/limits.ts';
import { meter } from '../packages/wasm/src/meter/meter.ts';
import { REAL_PROGRAMS } from '../tests/fixtures/real-programs/index.ts';
import { FORMS, type Form } from '../tests/fixtures/real-programs/metered.ts';
import { bundleChild, modulesOf } from '../tests/fixtures/real-programs/start.ts';
import { type BenchOptions, type Figure, single, spreadOf } from './measure.ts';
import { ratioOf, takeTurns } from './turns.ts';
import { moduleOfSize } from './wasm-modules.ts';
import { defaultForm, processorMsOf } from './wasm-sides.ts';

/*
 * What a module costs before it runs: rewriting those of the real programs, and rewriting, compiling and calling modules
 * of growing size. Ten times the bytes should take ten times as long.
 */

type Bytes = Uint8Array<ArrayBuffer>;

const SIZES = [
  { name: '10 KB', bytes: 1e4 },
  { name: '100 KB', bytes: 1e5 },
  { name: '1 MB', bytes: 1e6 },
  { name: '10 MB', bytes: 1e7 },
];

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const passes = quick ? 3 : 9;
  const corpus = await readCorpus(scratch);
  return [...(await overCorpus(corpus, passes)), ...(await overSizes(passes))];
}

/** Every module that the real programs compile, once. */
async function readCorpus(scratch: string): Promise<Bytes[]> {
  const child = await bundleChild(process.cwd(), mkdtempSync(join(scratch, 'corpus-')));
  const modules = new Map<string, Bytes>();
  for (const { name } of REAL_PROGRAMS) {
    const found = await modulesOf(child, name);
    for (const bytes of found) modules.set(createHash('sha256').update(bytes).digest('hex'), bytes);
  }
  return [...modules.values()];
}

function bytesOf(modules: readonly Uint8Array[]): number {
  return modules.reduce((sum, { length }) => sum + length, 0);
}

async function overCorpus(corpus: readonly Bytes[], passes: number): Promise<Figure[]> {
  const megabytes = bytesOf(corpus) / 1e6;
  const note = `${corpus.length} modules, ${megabytes.toFixed(0)} MB`;
  const rewrite = (form: Form) => corpus.map((bytes) => meter(bytes, { form, limits: CEILINGS }).bytes);
  const growth = FORMS.map((form): Figure => {
    const spread = single(bytesOf(rewrite(form)) / bytesOf(corpus));
    return { name: `rewritten / original bytes, ${form}`, unit: 'x', spread };
  });
  const validate = () => corpus.every((bytes) => WebAssembly.validate(bytes));
  const turns = await takeTurns(passes, [
    ...FORMS.map((form) => ({ name: form, turn: () => clockMsOf(() => rewrite(form)) })),
    { name: 'validating', turn: () => clockMsOf(validate) },
  ]);
  const rates = FORMS.map((form): Figure => {
    const spread = spreadOf((turns[form] ?? []).map((ms) => (megabytes / ms) * 1000));
    const goal = form === defaultForm() ? { goal: { atLeast: 20 } } : {};
    return { name: `rewriting real modules, ${form}, by the clock`, unit: 'MB/s', spread, note, ...goal };
  });
  const ratios = FORMS.map((form): Figure => {
    return {
      name: `rewriting, ${form} / V8 validating`,
      unit: 'x',
      spread: ratioOf(turns, form, 'validating'),
    };
  });
  return [...rates, ...ratios, ...growth];
}

async function overSizes(passes: number): Promise<Figure[]> {
  const form = defaultForm();
  const perByte: number[] = [];
  const figures: Figure[] = [];
  for (const { name: what, bytes: size } of SIZES) {
    const bytes = moduleOfSize(size);
    const rewrite = () => meter(bytes, { form, limits: CEILINGS }).bytes;
    const ours = { name: 'ours', turn: () => processorMsOf(() => firstCall(fresh(rewrite()))) };
    const bare = { name: 'bare', turn: () => processorMsOf(() => firstCall(fresh(bytes))) };
    const rewriting = { name: 'rewriting', turn: () => processorMsOf(rewrite) };
    await takeTurns(2, [rewriting]);
    const turns = await takeTurns(size > 1e6 ? passes : 4 * passes, [rewriting, bare, ours]);
    const rewritingMs = spreadOf(turns.rewriting ?? []);
    perByte.push(rewritingMs.median / bytes.length);
    figures.push({ name: `rewriting ${what}, ${form}`, unit: 'ms', spread: rewritingMs });
    figures.push({
      name: `to the first call of ${what}, metered / bare`,
      unit: 'x',
      spread: ratioOf(turns, 'ours', 'bare'),
    });
  }
  const [, atSmall = 0, , atLarge = 0] = perByte;
  const growth: Figure = {
    name: 'rewriting a byte of 10 MB / of 100 KB',
    unit: 'x',
    spread: single(atLarge / atSmall),
    goal: { atMost: 1.5 },
  };
  return [...figures, growth];
}

/** By the clock: V8's collector and compilers work beside the rewriting, on threads of their own. */
function clockMsOf(act: () => unknown): number {
  const startedMs = performance.now();
  act();
  return performance.now() - startedMs;
}

/** V8 knows bytes again that it compiled before; a last section with a new name makes them new. */
function fresh(bytes: Bytes): Bytes {
  const name = Buffer.from(`${performance.now()}${Math.random()}`.padEnd(40).slice(0, 40));
  const copy = new Uint8Array(bytes.length + 43);
  copy.set(bytes, 0);
  copy.set([0, 41, 40], bytes.length);
  copy.set(name, bytes.length + 3);
  return copy;
}

function firstCall(bytes: Bytes): unknown {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  return (exports.run as (n: number) => number)(9);
}
