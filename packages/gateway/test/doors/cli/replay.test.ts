import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bundleOf, type RunBundle } from '../../../src/doors/cli/run-bundle.ts';
import { findUnsound } from '../../../src/doors/cli/run-bundle-form.ts';
import { callTool, openTestGateway, PERMIT_ALL } from '../../fixture/gateway.ts';
import { ECHO, guest, wasmTool } from '../../tiers/a-wasm/guests.ts';
import { makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const WRONG_USAGE = 64;

/** The bundle of a call that was made, and palisade on another state directory. */
async function exported() {
  const tools = [wasmTool('test.tool', guest(ECHO))];
  const gateway = await openTestGateway({ policies: PERMIT_ALL, tools });
  const { callId } = await callTool(gateway, 'test.tool', { input: { a: 1 } });
  const bundle = bundleOf(gateway, callId);
  const replay = async (changed: unknown, name = 'run.json') => {
    const path = join(scratch, name);
    writeFileSync(path, typeof changed === 'string' ? changed : JSON.stringify(changed));
    return palisade(['replay', path, '--state', join(scratch, 'state')]);
  };
  return { bundle, replay };
}

describe('palisade replay FILE', () => {
  test('says that an exported run ends as its receipt says, and that nobody looked at the signature', async () => {
    const { bundle, replay } = await exported();
    const { status, out, err } = await replay(bundle);
    expect([status, `${out}${err}`]).toEqual([0, expect.stringContaining('the same output')]);
    expect(`${out}${err}`).toContain('signature of its receipt was not looked at');
  });

  test('says what differs in a run whose input, answers or limits were changed', async () => {
    const { bundle, replay } = await exported();
    const changes: readonly Partial<RunBundle['recording']>[] = [
      { input: '{"a":2}' },
      { startedMs: 5 },
      { limits: { ...bundle.recording.limits, fuel: 1 } },
    ];
    for (const change of changes) {
      const { status, out, err } = await replay({ ...bundle, recording: { ...bundle.recording, ...change } });
      expect([status, `${out}${err}`]).toEqual([1, expect.stringContaining('the recording is another')]);
    }
  });

  test('refuses a file that is no exported run, and names what is wrong in it', async () => {
    const { bundle, replay } = await exported();
    const recording = (change: object) => ({ ...bundle, recording: { ...bundle.recording, ...change } });
    const exchange = { name: 'storage_get', asked: 'x', result: 1, bytes: { length: 4_000_000_000 } };
    const unsound: readonly (readonly [unknown, string])[] = [
      [null, 'document'],
      [{ format: bundle.format }, 'call'],
      [{ ...bundle, envelope: 'x' }, 'envelope'],
      [{ ...bundle, module: { length: 4_000_000_000 } }, 'module'],
      [{ ...bundle, recording: [] }, 'recording'],
      [recording({ seed: 'x' }), 'recording.seed'],
      [recording({ exchanges: [exchange] }), 'recording.exchanges'],
      [recording({ limits: { ...bundle.recording.limits, fuel: 1e15 } }), 'recording.limits'],
      [recording({ config: { a: '\ud800' } }), 'recording.config'],
    ];
    expect(findUnsound(bundle)).toBeNull();
    for (const [file, what] of unsound) expect(findUnsound(file)).toBe(what);
    const files: readonly (readonly [unknown, string])[] = [
      [recording({ seed: 'x' }), 'its recording.seed is missing or wrong'],
      [{ ...bundle, envelope: { payload: 'AAAA' } }, 'its payload is no statement'],
      ['[', 'it cannot be read as JSON'],
    ];
    for (const [file, what] of files) {
      const { status, err } = await replay(file);
      expect([status, err]).toEqual([WRONG_USAGE, expect.stringContaining(what)]);
    }
  });
});
