import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { bundleOf, findUnsound, type RunBundle } from '../../../src/doors/cli/run-bundle.ts';
import { recordingDigest } from '../../../src/recordings/recordings.ts';
import { callTool, openTestGateway, PERMIT_ALL } from '../../fixture/gateway.ts';
import { ECHO, guest, wasmTool } from '../../tiers/a-wasm/guests.ts';
import { holdGateways } from './held-gateways.ts';
import { makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const { open: openGateway, close } = holdGateways();
afterAll(close);
const WRONG_USAGE = 64;

/** The bundle of a call that was made, and palisade on another state directory. */
async function exported() {
  const tools = [wasmTool('test.tool', guest(ECHO))];
  const gateway = await openTestGateway({ policies: PERMIT_ALL, tools });
  const { callId, receipt } = await callTool(gateway, 'test.tool', { input: { a: 1 } });
  const bundle = bundleOf(gateway.store, callId, JSON.parse(receipt ?? ''));
  const replay = async (changed: unknown, name = 'run.json') => {
    const path = join(scratch, name);
    writeFileSync(path, typeof changed === 'string' ? changed : JSON.stringify(changed));
    return palisade(['replay', path, '--state', join(scratch, 'state')], { openGateway });
  };
  return { bundle, replay };
}

/** The receipt of a bundle with another usage, of another recording; nobody looks at its signature here. */
function claiming({ envelope }: RunBundle, usage: object, recording: object) {
  const statement = JSON.parse(Buffer.from(envelope.payload, 'base64').toString());
  Object.assign(statement.predicate.usage, usage);
  statement.predicate.execution.isolation.recording = recordingDigest(recording as RunBundle['recording']);
  return { ...envelope, payload: Buffer.from(JSON.stringify(statement)).toString('base64') };
}

describe('palisade export-run --out FILE', () => {
  test('makes a file that nobody else can read, and replaces none without --force', async () => {
    const tools = [wasmTool('test.tool', guest(ECHO))];
    const gateway = await openTestGateway({ policies: PERMIT_ALL, tools });
    const { callId } = await callTool(gateway, 'test.tool', { input: { a: 1 } });
    const path = join(scratch, 'out.json');
    const exports = (...words: string[]) =>
      palisade(['export-run', callId, '--state', gateway.stateDir, ...words]);
    expect((await exports('--out', path)).status).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ format: 'palisade-run-1', call: callId });
    writeFileSync(path, 'something else');
    chmodSync(path, 0o644);
    const link = join(scratch, 'link.json');
    symlinkSync(path, link);
    for (const taken of [path, link]) {
      const { status, err } = await exports('--out', taken);
      expect([status, err]).toEqual([WRONG_USAGE, expect.stringContaining('it already exists')]);
    }
    expect((await exports('--out', link, '--force')).err).toContain('it is not a regular file');
    expect(readFileSync(path, 'utf8')).toBe('something else');
    expect((await exports('--out', path, '--force')).status).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toContain(callId);
    expect((await exports('--force')).status).toBe(WRONG_USAGE);
  });
});

describe('palisade replay FILE', () => {
  test('says that an exported run ends as its receipt says, and that nobody looked at the signature', async () => {
    const { bundle, replay } = await exported();
    const { status, out, err } = await replay(bundle);
    expect([status, `${out}${err}`]).toEqual([0, expect.stringContaining('the same output')]);
    expect(`${out}${err}`).toContain('signature of the receipt was not checked');
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
      expect([status, `${out}${err}`]).toEqual([1, expect.stringContaining('the recording differs')]);
    }
  });

  test('compares no fuel that another meter counted, and says so', async () => {
    const { bundle, replay } = await exported();
    const { engine, ...recording } = bundle.recording;
    if (engine === undefined) throw new Error('the recording does not say who counted');
    const observed = 'The fuel was not compared';
    expect((await replay(bundle)).out).not.toContain(observed);
    const older = { ...recording, engine: { ...engine, meter: engine.meter - 1 } };
    for (const changed of [older, { ...recording, version: 1 }]) {
      const claimed = { ...bundle, envelope: claiming(bundle, { fuel: 1 }, changed), recording: changed };
      const { status, out } = await replay(claimed);
      expect([status, out]).toEqual([0, expect.stringContaining(observed)]);
    }
    const counted = { ...bundle, envelope: claiming(bundle, { fuel: 1 }, bundle.recording) };
    expect(await replay(counted)).toMatchObject({
      status: 1,
      out: expect.stringContaining('the receipt says 1'),
    });
  });

  test('says that a file is missing, not that the journal lacks a call of that name', async () => {
    const missing = join(scratch, 'missing.json');
    const { status, err } = await palisade(['replay', missing, '--state', join(scratch, 'state')]);
    expect(status).toBe(WRONG_USAGE);
    expect(err).toContain(`Cannot read "${missing}": no such file`);
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
      [recording({ seed: 'x' }), 'its recording.seed is missing or invalid'],
      [{ ...bundle, envelope: { payload: 'AAAA' } }, 'its payload is not a statement'],
      ['[', 'it is not valid JSON'],
    ];
    for (const [file, what] of files) {
      const { status, err } = await replay(file);
      expect([status, err]).toEqual([WRONG_USAGE, expect.stringContaining(what)]);
    }
  });
});
