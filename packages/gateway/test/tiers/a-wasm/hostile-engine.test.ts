import { describe, expect, it, onTestFinished } from 'vitest';
import { FRAMES } from '../../../src/tiers/a-wasm/engine/protocol.ts';
import {
  type CallListeners,
  EngineProcess,
  type GuestRequest,
} from '../../../src/tiers/a-wasm/engine-process.ts';
import { DONE, type FakeEngine, fakeEngine } from './fake-engine.ts';
import { NO_FORM, sampleHead } from './sample-engine.ts';

const ASK = { name: 'storage_get', numbers: [30_000], lengths: [] };
const HEAD = sampleHead();
const CALL = { module: { key: 'module-1', form: NO_FORM }, head: HEAD, input: new Uint8Array(2) };

function started(listeners: Partial<CallListeners> = {}) {
  const fake = fakeEngine();
  const engine = new EngineProcess(fake.ends);
  onTestFinished(() => engine.end('the test is over'));
  fake.say('ready', {});
  const asked: GuestRequest[] = [];
  const logged: Uint8Array[] = [];
  const onRequest = async (question: GuestRequest) => {
    asked.push(question);
    return { result: 3, bytes: Buffer.from('abc') };
  };
  const onLog = (_level: unknown, text: Uint8Array) => void logged.push(text);
  return { fake, engine, asked, logged, run: () => engine.run(CALL, { onRequest, onLog, ...listeners }) };
}

/** A frame whose head has this length without being one. */
function longHead(bytes: number): Buffer {
  const frame = Buffer.alloc(9 + bytes, '[');
  frame.writeUInt32LE(5 + bytes, 0);
  frame[4] = FRAMES.ask;
  frame.writeUInt32LE(bytes, 5);
  return frame;
}

describe('an engine that was taken over', () => {
  it('is heard as long as it keeps to the rules', async () => {
    const { fake, engine, asked, logged, run } = started();
    const end = run();
    fake.say('log', { level: 1 }, Buffer.from('line'));
    fake.say('ask', ASK);
    await expect.poll(() => fake.heard.at(-1)?.kind).toBe('answer');
    fake.say('done', DONE, Buffer.from('{}'));
    expect(await end).toMatchObject({ kind: 'done', head: DONE });
    expect([asked.length, logged.length, engine.isGone]).toEqual([1, 1, false]);
  });

  it.each<[string, (fake: FakeEngine) => void, string]>([
    ['says that it is ready again', (fake) => fake.say('ready', {}), 'an invalid frame'],
    ['says what only the gateway says', (fake) => fake.say('call', HEAD), 'an invalid frame'],
    ['sends a head that is longer than any', (fake) => fake.sayBytes(longHead(65_537)), 'an invalid frame'],
    [
      'announces gigabytes',
      (fake) => fake.sayBytes(Buffer.from([255, 255, 255, 255, 4])),
      'an invalid frame',
    ],
    ['asks for what nobody does', (fake) => fake.say('ask', { ...ASK, name: '\ud800' }), 'an invalid frame'],
    [
      'asks for what the gateway is not asked',
      (fake) => fake.say('ask', { ...ASK, name: 'log' }),
      'invalid frame',
    ],
    ['asks without a head', (fake) => fake.say('ask', null), 'an invalid frame'],
    [
      'ends with more than an output',
      (fake) => fake.say('done', DONE, Buffer.alloc(1_048_577)),
      'invalid frame',
    ],
    [
      'used more fuel than it had',
      (fake) => fake.say('done', { ...DONE, fuelUsed: 1e12 }),
      'an invalid frame',
    ],
    [
      'used more memory than it had',
      (fake) => fake.say('done', { ...DONE, peakMemoryBytes: HEAD.limits.memoryBytes + 1 }),
      'an invalid frame',
    ],
    [
      'logs more than it may',
      (fake) => fake.say('log', { level: 1 }, Buffer.alloc(10_001)),
      'more log lines',
    ],
  ])('and %s is ended, and the call with it', async (_name, misbehave, why) => {
    const { fake, engine, asked, run } = started();
    const end = run();
    misbehave(fake);
    expect(await end).toMatchObject({ kind: 'gone', why: expect.stringContaining(why) });
    expect([engine.isGone, fake.isKilled(), asked.length]).toEqual([true, true, 0]);
  });

  it('and floods the log with empty lines is ended at the quota', async () => {
    const { fake, logged, run } = started();
    const end = run();
    for (let line = 0; line <= HEAD.limits.logBytes / 10; line += 1) fake.say('log', { level: 1 });
    expect(await end).toMatchObject({ kind: 'gone' });
    expect(logged.length).toBe(HEAD.limits.logBytes / 10);
  });

  it('and asks on without taking in an answer is ended before a second one waits for it', async () => {
    const { fake, asked, run } = started();
    const end = run();
    fake.stopListening();
    fake.say('ask', ASK);
    await expect.poll(() => fake.ends.send.writableLength).toBeGreaterThan(0);
    fake.say('ask', ASK);
    expect(await end).toMatchObject({ kind: 'gone', why: 'it does not read what it is sent' });
    expect(asked.length).toBe(1);
  });

  it('and asks more often than its fuel pays for is ended', async () => {
    const { fake, engine, asked } = started();
    const head = sampleHead({ limits: { ...HEAD.limits, fuel: 10_000 } });
    const onRequest = async (question: GuestRequest) => {
      asked.push(question);
      return { result: 0 };
    };
    const end = engine.run({ ...CALL, head }, { onRequest, onLog: () => undefined });
    const answers = () => fake.heard.filter(({ kind }) => kind === 'answer').length;
    for (let ask = 1; ask <= 5; ask += 1) {
      fake.say('ask', ASK);
      await expect.poll(answers).toBe(ask);
    }
    fake.say('ask', ASK);
    expect(await end).toEqual({ kind: 'gone', why: 'it made more requests than its fuel pays for' });
    expect(asked.length).toBe(5);
  });

  it('and ends a call that it did not take in is not given another', async () => {
    const { fake, engine, run } = started();
    fake.stopListening();
    const end = run();
    fake.say('done', DONE, Buffer.from('{}'));
    expect(await end).toMatchObject({ kind: 'gone', why: 'it does not read what it is sent' });
    expect(engine.isGone).toBe(true);
  });

  it('and speaks when nobody asked it is ended', async () => {
    const { fake, engine } = started();
    expect(await engine.ready).toBe(true);
    fake.say('done', DONE, Buffer.from('{}'));
    await expect.poll(() => engine.isGone).toBe(true);
  });
});
