import { METER_VERSION } from '@palisade/wasm';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import type { Recording } from '../../../src/core/recording.ts';
import type { WasmGrants } from '../../../src/core/wasm.ts';
import { findRecording, recordingDigest } from '../../../src/recordings/recordings.ts';
import { countsAlike, replay } from '../../../src/tiers/a-wasm/replay.ts';
import { callTool, openTestGateway, PERMIT_ALL } from '../../fixture/gateway.ts';
import { ECHO, guest, packed, wasmTool } from './guests.ts';

const GET = guest(
  `(drop (call $storage_put (i32.const 30000) (i32.const 16) (i32.const 7)
     (local.get $at) (local.get $length) (f64.const -1)))
   (local.set $n (call $storage_get (i32.const 30000) (i32.const 16) (i32.const 7)))
   (drop (call $result_read (i32.const 20000) (i32.const 4096)))
   ${packed('(i32.const 20008)', '(i32.sub (local.get $n) (i32.const 8))')}`,
  ['notes/a'],
);
const NOTES = { storage: [{ read: ['notes/'], write: ['notes/'] }] };
const never = () => new AbortController().signal;

/** A call that was made, with what was kept of it. */
async function recorded(module: Uint8Array, grants: Partial<WasmGrants> = {}, input: Json = {}) {
  const tools = [wasmTool('test.tool', module, grants)];
  const gateway = await openTestGateway({ policies: PERMIT_ALL, tools });
  const { callId, outcome, receipt } = await callTool(gateway, 'test.tool', { input });
  const payload = JSON.parse(Buffer.from(JSON.parse(receipt ?? '{}').payload, 'base64').toString());
  const output = payload.subject.find(({ name }: { name: string }) => name === 'output');
  const claim = { ...payload.predicate, outputDigest: output?.digest.sha256 ?? null };
  return { gateway, outcome, kept: findRecording(gateway.store, callId), claim };
}

describe('a recorded call', () => {
  it('ends as its receipt says when it is run again, and does nothing', async () => {
    const { gateway, kept, claim } = await recorded(GET, NOTES, { note: 'ü' });
    if (kept === null) throw new Error('nothing was kept');
    expect(recordingDigest(kept.recording)).toBe(claim.execution.isolation.recording);
    const again = await replay(gateway, kept.recording, kept.module, never());
    expect(again).toEqual({
      code: 'ok',
      outputDigest: claim.outputDigest,
      fuel: claim.usage.fuel,
      engine: kept.recording.engine,
      parting: null,
    });
    expect(kept.recording).toMatchObject({ version: 2, engine: { meter: METER_VERSION } });
  });

  it('shows where it parts when an answer was another', async () => {
    const { gateway, kept, claim } = await recorded(GET, NOTES, { note: 1 });
    if (kept === null) throw new Error('nothing was kept');
    const [put, get] = kept.recording.exchanges;
    if (put === undefined || get === undefined) throw new Error('it asked nothing');
    const other = Buffer.from(get.bytes, 'base64');
    other.write('2', other.indexOf('1', 8));
    const changed: Recording = {
      ...kept.recording,
      exchanges: [put, { ...get, bytes: other.toString('base64') }],
    };
    const again = await replay(gateway, changed, kept.module, never());
    expect(again.outputDigest).not.toBe(claim.outputDigest);
    const shorter = await replay(gateway, { ...kept.recording, exchanges: [put] }, kept.module, never());
    expect(shorter.parting).toEqual({ kind: 'asks', index: 1, asked: 'storage_get', expected: null });
    const longer: Recording = { ...kept.recording, exchanges: [put, get, get] };
    expect((await replay(gateway, longer, kept.module, never())).parting).toEqual({
      kind: 'ends',
      index: 2,
      expected: 'storage_get',
    });
  });

  it('is not run with another module, or with another input to the same end', async () => {
    const { gateway, kept, claim } = await recorded(guest(ECHO), {}, { a: 1 });
    if (kept === null) throw new Error('nothing was kept');
    await expect(replay(gateway, kept.recording, guest('(unreachable)'), never())).rejects.toThrow('another');
    const other = await replay(gateway, { ...kept.recording, input: '{"a":2}' }, kept.module, never());
    expect(other.outputDigest).not.toBe(claim.outputDigest);
  });

  it('that failed fails again in the same way', async () => {
    const { gateway, kept, claim } = await recorded(guest('(loop $x (br $x)) (unreachable)'));
    if (kept === null) throw new Error('nothing was kept');
    const again = await replay(gateway, kept.recording, kept.module, never());
    expect(again).toMatchObject({ code: claim.outcome.code, fuel: claim.usage.fuel, parting: null });
    expect(claim.outcome.code).toBe('tier/out-of-fuel');
  });
});

describe('two engines', () => {
  const engine = { meter: 3, form: 'thread', isDeterministic: true };

  it('count alike where all that counts depend on is equal, and known', () => {
    expect(countsAlike(engine, { ...engine })).toBe(true);
    for (const other of [{ meter: 4 }, { form: 'local' }, { isDeterministic: false }])
      expect(countsAlike(engine, { ...engine, ...other })).toBe(false);
    expect([countsAlike(null, engine), countsAlike(engine, null), countsAlike(null, null)]).toEqual([
      ...[false, false, false],
    ]);
  });
});
