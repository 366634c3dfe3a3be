/** Runs a recorded call again: the same module, the same input, and the answers that were written down. Nothing is done. */
import { canonicalize } from '@palisade/sdk';
import { type Digest, digestBytes } from '../../core/digest.ts';
import type { Recording } from '../../core/recording.ts';
import { endingOf } from './ending.ts';
import type { EnginePool } from './engine-pool.ts';
import type { EngineEnd, Question, Reply } from './engine-process.ts';
import type { CallHead } from './engine-words.ts';
import { askedDigest } from './recorder.ts';

/** Where a call that is run again does something else than it did. */
export type Parting =
  /** It asks for another thing, or for more than it did. */
  | {
      readonly kind: 'asks';
      readonly index: number;
      readonly asked: string;
      readonly expected: string | null;
    }
  /** It asks for less than it did. */
  | { readonly kind: 'ends'; readonly index: number; readonly expected: string };

export type Replayed = {
  readonly code: string;
  /** Of the output as a receipt has it; null where there is none. */
  readonly outputDigest: Digest | null;
  readonly fuel: number;
  readonly parting: Parting | null;
};

/** Boundary: the module is looked at before it runs, as at every load. */
export async function replay(
  pool: EnginePool,
  recording: Recording,
  module: Uint8Array,
  signal: AbortSignal,
): Promise<Replayed> {
  if (digestBytes(module) !== recording.module)
    throw new TypeError('Cannot replay: the module is another than the one that was recorded');
  const { exportName, input, exchanges, ...rest } = recording;
  const head = { ...rest, key: recording.module, owner: 'replay', tool: exportName } as unknown as CallHead;
  let next = 0;
  let parting: Parting | null = null;
  const onAsk = async (question: Question): Promise<Reply> => {
    const expected = exchanges[next];
    if (expected === undefined || expected.asked !== askedDigest(question)) {
      parting ??= {
        kind: 'asks',
        index: next,
        asked: String(question.head.name),
        expected: expected?.name ?? null,
      };
      throw new TypeError('Cannot replay: it asks for what it did not ask for');
    }
    next += 1;
    return { result: expected.result, bytes: Buffer.from(expected.bytes, 'base64') };
  };
  const engine = await pool.take(head.owner);
  const onAbort = () => engine.end('nobody waits for it');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const call = { module: { key: recording.module, bytes: module }, head, input: Buffer.from(input) };
    const end = await engine.run(call, { onAsk, onLog: () => undefined });
    const missing = exchanges[next];
    if (parting === null && end.kind === 'done' && missing !== undefined)
      parting = { kind: 'ends', index: next, expected: missing.name };
    return { ...told(end, recording), parting };
  } finally {
    signal.removeEventListener('abort', onAbort);
    pool.giveBack(engine);
  }
}

function told(end: EngineEnd, { limits }: Recording): Omit<Replayed, 'parting'> {
  if (end.kind === 'gone') return { code: 'tier/unknown-ending', outputDigest: null, fuel: 0 };
  const ending = endingOf(end.head, end.bytes, limits.outputBytes ?? 0);
  return {
    code: ending.status === 'ok' ? 'ok' : ending.code,
    outputDigest: ending.output === null ? null : digestBytes(canonicalize(ending.output)),
    fuel: end.head.fuelUsed,
  };
}
