/** Replays a recorded call: the same module, the same input, and the recorded answers. It has no outside effects. */
import { canonicalize } from '@palisade/sdk';
import { type Digest, digestBytes } from '../../core/digest.ts';
import type { EngineFacts, Recording } from '../../core/recording.ts';
import { endingOf, refusedEnding } from './ending.ts';
import type { CallHead } from './engine/protocol.ts';
import type { EnginePool } from './engine-pool.ts';
import type { EngineEnd, GuestRequest, HostReply, PrepareEnd } from './engine-process.ts';
import { moduleKey, type ReadyModules } from './modules.ts';
import { requestDigest } from './recorder.ts';

/** Where a replayed call diverges from its recording. */
type Parting =
  /** It makes a different or an additional request. */
  | {
      readonly kind: 'asks';
      readonly index: number;
      readonly asked: string;
      readonly expected: string | null;
    }
  /** It makes fewer requests. */
  | { readonly kind: 'ends'; readonly index: number; readonly expected: string };

export type Replayed = {
  readonly code: string;
  /** Of the output as in a receipt; null where it has none. */
  readonly outputDigest: Digest | null;
  readonly fuel: number;
  /** Of the engine that replayed it; null where it does not report them. */
  readonly engine: EngineFacts | null;
  readonly parting: Parting | null;
};

/** No tenant has this name. */
const OWNER = '#replay';

/** Boundary: the module is inspected before it runs, as at every load. */
export async function replay(
  { engines, ready }: { readonly engines: EnginePool; readonly ready: ReadyModules },
  recording: Recording,
  module: Uint8Array,
  signal: AbortSignal,
): Promise<Replayed> {
  if (digestBytes(module) !== recording.module)
    throw new TypeError('Cannot replay: the module is another than the one that was recorded');
  const { exportName, input, exchanges, version: _, engine: __, ...rest } = recording;
  const memoryBytes = recording.limits.memoryBytes ?? 0;
  const wanted = { tenant: OWNER, sha256: recording.module, memoryBytes, bytes: module };
  const key = moduleKey(wanted);
  const head = { ...rest, key, owner: OWNER, tool: exportName } as unknown as CallHead;
  let next = 0;
  let parting: Parting | null = null;
  const onRequest = async (request: GuestRequest): Promise<HostReply> => {
    const expected = exchanges[next];
    if (expected === undefined || expected.asked !== requestDigest(request)) {
      parting ??= {
        kind: 'asks',
        index: next,
        asked: String(request.head.name),
        expected: expected?.name ?? null,
      };
      throw new TypeError('Cannot replay: it makes another request than it did');
    }
    next += 1;
    return { result: expected.result, bytes: Buffer.from(expected.bytes, 'base64') };
  };
  const prepared = await ready.take(wanted, signal);
  if (prepared.kind !== 'prepared') return { ...unprepared(prepared), parting: null };
  const call = { module: { key, form: prepared.form }, head, input: Buffer.from(input) };
  const end = await engines.use(OWNER, signal, (engine) =>
    engine.run(call, { onRequest, onLog: () => undefined }),
  );
  const missing = exchanges[next];
  if (parting === null && end.kind === 'done' && missing !== undefined)
    parting = { kind: 'ends', index: next, expected: missing.name };
  return { ...replayedOf(end, recording), parting };
}

/** Whether two engines count fuel alike; one that does not report how it counts matches no other. */
export function countsAlike(one: EngineFacts | null, other: EngineFacts | null): boolean {
  if (one === null || other === null) return false;
  const { meter, form, isDeterministic } = one;
  return meter === other.meter && form === other.form && isDeterministic === other.isDeterministic;
}

/** A module that every engine refuses has not run. */
function unprepared(end: Exclude<PrepareEnd, { readonly kind: 'prepared' }>): Omit<Replayed, 'parting'> {
  const ending = end.kind === 'refused' ? refusedEnding(end.refused) : null;
  const code = ending?.status === 'failed' ? ending.code : 'tier/unknown-ending';
  return { code, outputDigest: null, fuel: 0, engine: null };
}

function replayedOf(end: EngineEnd, { limits }: Recording): Omit<Replayed, 'parting'> {
  if (end.kind === 'gone') return { code: 'tier/unknown-ending', outputDigest: null, fuel: 0, engine: null };
  const ending = endingOf(end.head, end.bytes, limits.outputBytes ?? 0);
  return {
    code: ending.status === 'ok' ? 'ok' : ending.code,
    outputDigest: ending.output === null ? null : digestBytes(canonicalize(ending.output)),
    fuel: end.head.fuelUsed,
    engine: end.head.engine ?? null,
  };
}
