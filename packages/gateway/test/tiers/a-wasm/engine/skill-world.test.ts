import { describe, expect, it } from 'vitest';
import { answerWith, withHead } from '../../../../src/tiers/a-wasm/host-answer.ts';
import { callComponent, Gateway } from './component-call.ts';

const answered = (bytes: Uint8Array) => {
  const { result, bytes: told = new Uint8Array(0) } = answerWith(bytes);
  return { result, bytes: told };
};
const DONE = { result: 0 };

function storedAnswer(version: number, value: string) {
  const bytes = Buffer.alloc(8 + value.length);
  bytes.writeDoubleLE(version, 0);
  bytes.write(value, 8);
  return answered(bytes);
}

describe('a component of the world', () => {
  it('gets the tool and its input, and gives its output', async () => {
    expect(await callComponent('skill', 'echo', ['ü', '語'])).toMatchObject({
      ending: 'returned',
      output: { a: ['ü', '語'] },
    });
  });

  it('that reports a failure ends as one that called `fail`', async () => {
    expect(await callComponent('skill', 'nobody')).toMatchObject({
      ending: 'failed',
      output: { code: 'not-found', message: 'there is no such tool' },
      done: { isExact: true, isLogCut: false },
    });
  });

  it('uses the same fuel for the same work every time', async () => {
    const runs = [await callComponent('skill', 'echo', ['x']), await callComponent('skill', 'echo', ['x'])];
    expect(runs[0]?.done?.fuelUsed).toBeGreaterThan(0);
    expect(runs[0]?.done?.fuelUsed).toBe(runs[1]?.done?.fuelUsed);
  });

  it.each([
    ['trap', 'unreachable'],
    ['loop', 'fuel'],
  ])('that does %s ends as any module would', async (tool, code) => {
    expect(await callComponent('skill', tool)).toMatchObject({ ending: 'trapped', code });
  });

  it('returns as much as it may, and no more', async () => {
    const limits = { fuel: 10_000_000, memoryBytes: 16_000_000, outputBytes: 10, logBytes: 1_000 };
    expect(await callComponent('skill', 'long', ['10'], { limits })).toMatchObject({ output: 1_111_111_111 });
    expect(await callComponent('skill', 'long', ['11'], { limits })).toMatchObject({
      ...{ ending: 'trapped', code: 'limit', detail: 'mostBytes' },
      usage: { isExact: true, fuelUsed: expect.any(Number) },
    });
  });
});

describe('capabilities', () => {
  const counts = { http: 0, secret: 2, storage: 1, channel: 0 };

  it.each([
    ['count', ['1'], 2],
    ['count', ['3'], 0],
    ['handle', ['1', '1'], 20_001],
    ['handle', ['2', '0'], 30_000],
    ['handle', ['2', '1'], { error: 1 }],
    ['handle', ['2', '4294967295'], { error: 1 }],
  ])('%s%j gives %j', async (tool, args, output) => {
    expect(await callComponent('skill', tool, args, { counts })).toMatchObject({ output });
  });

  it('of a kind that does not exist end the call', async () => {
    expect(await callComponent('skill', 'count', ['4'], { counts })).toMatchObject({ ending: 'trapped' });
  });
});

describe('what a component asks', () => {
  it('of http is the question of the ABI, with the answer taken apart', async () => {
    const head = {
      status: 404,
      headers: [
        ['server', 'x'],
        ['a', 'b'],
      ],
      url: 'http://b.test/',
    };
    const gateway = new Gateway(answered(withHead(head, Buffer.from('not here'))));
    const args = ['10000', 'POST', 'http://a.test/', 'body', '20000', 'authorization', 'Bearer {}'];
    expect(await callComponent('skill', 'send', args, { gateway })).toMatchObject({
      output: { status: 404, url: 'http://b.test/', headers: 2, first: 'server', body: 'not here' },
    });
    const [{ name, numbers, texts: [asked = '', body] = [] } = {}] = gateway.asked;
    expect({ name, numbers, body }).toEqual({ name: 'http_request', numbers: [10_000], body: 'body' });
    expect(JSON.parse(asked)).toEqual({
      ...{ method: 'POST', url: 'http://a.test/', headers: [['accept', 'text/plain']] },
      secret: { handle: 20_000, header: 'authorization', format: 'Bearer {}' },
    });
  });

  it('of http has no secret where none was named', async () => {
    const gateway = new Gateway({ result: -1 });
    const args = ['10000', 'GET', 'http://a.test/', ''];
    expect(await callComponent('skill', 'send', args, { gateway })).toMatchObject({ output: { error: 0 } });
    expect(JSON.parse(gateway.asked[0]?.texts[0] ?? '').secret).toBeNull();
  });

  it.each([
    ['read', ['20000'], answered(Buffer.from('s3cret')), 'secret_read', [20_000], [], 's3cret'],
    [
      ...(['get', ['30000', 'notes/a'], storedAnswer(7, 'v'), 'storage_get', [30_000], ['notes/a']] as const),
      { version: 7, value: 'v' },
    ],
    ['put', ['30000', 'k', 'v', '0', '0'], DONE, 'storage_put', [30_000, -1], ['k', 'v'], null],
    ['put', ['30000', 'k', 'v', '1', '0'], DONE, 'storage_put', [30_000, 0], ['k', 'v'], null],
    [
      'put',
      ['30000', 'k', 'v', '2', '7'],
      { result: -5 },
      'storage_put',
      [30_000, 7],
      ['k', 'v'],
      { error: 4 },
    ],
    ['delete', ['30000', 'k', ''], DONE, 'storage_delete', [30_000, -1], ['k'], null],
    ['delete', ['30000', 'k', '9'], DONE, 'storage_delete', [30_000, 9], ['k'], null],
    [
      ...(['keys', ['30000', 'p', 'q', '5'], answered(Buffer.from('["a","b"]'))] as const),
      ...(['storage_list', [30_000, 5], ['p', 'q'], ['a', 'b']] as const),
    ],
    ['publish', ['40000', 'hello'], DONE, 'channel_publish', [40_000], ['hello'], null],
    [
      ...(['receive', ['40000', '50'], answered(withHead({ missed: 0 }, Buffer.from('hi')))] as const),
      ...(['channel_receive', [40_000, 50], [], { sender: '{"missed":0}', body: 'hi' }] as const),
    ],
    ['receive', ['40000', '50'], { result: -2 }, 'channel_receive', [40_000, 50], [], { error: 1 }],
  ] as const)(
    'by %s%j is the question of the ABI',
    async (tool, args, answer, name, numbers, texts, output) => {
      const gateway = new Gateway(answer);
      expect(await callComponent('skill', tool, args, { gateway })).toMatchObject({
        ending: 'returned',
        output,
      });
      expect(gateway.asked).toMatchObject([{ name, numbers, texts }]);
    },
  );

  it.each([
    ['put', ['30000', 'k', 'v', '2', '0']],
    ['put', ['30000', 'k', 'v', '2', '18446744073709551615']],
    ['delete', ['30000', 'k', '18446744073709551615']],
    ['delete', ['30000', 'k', '0']],
  ])('by %s%j is no version, and the gateway is not asked', async (tool, args) => {
    const gateway = new Gateway();
    expect(await callComponent('skill', tool, args, { gateway })).toMatchObject({ output: { error: 5 } });
    expect(gateway.asked).toEqual([]);
  });

  it.each([-1, -2, -3, -4, -5, -6, -7, -8])('is answered with the error %i by its name', async (result) => {
    const gateway = new Gateway({ result });
    expect(await callComponent('skill', 'read', ['20000'], { gateway })).toMatchObject({
      output: { error: -1 - result },
    });
  });

  it('costs by the length of the answer', async () => {
    const fuelOf = async (length: number) => {
      const gateway = new Gateway(answered(Buffer.alloc(length, 0x61)));
      return (await callComponent('skill', 'read', ['20000'], { gateway })).done?.fuelUsed ?? 0;
    };
    expect(await fuelOf(8_000)).toBeGreaterThan((await fuelOf(0)) + 1_000);
  });
});

describe('what is done beside a component', () => {
  it('logs lines with their levels, within the quota', async () => {
    const gateway = new Gateway();
    const limits = { fuel: 10_000_000, memoryBytes: 16_000_000, outputBytes: 1_000, logBytes: 16 };
    expect(await callComponent('skill', 'log', ['2', 'watch'], { gateway, limits })).toMatchObject({
      done: { isLogCut: false },
    });
    expect(gateway.lines).toEqual([[2, 'watch']]);
    expect(await callComponent('skill', 'log', ['2', 'too long'], { gateway, limits })).toMatchObject({
      done: { isLogCut: true },
    });
    expect(gateway.lines).toHaveLength(1);
  });

  it('tells the time when the call began', async () => {
    expect(await callComponent('skill', 'clock')).toMatchObject({ output: 1_700_000_000_000 });
  });

  it('makes the same random bytes from the same seed, and others from another', async () => {
    const { output } = await callComponent('skill', 'random', ['32']);
    expect(new Set(output).size).toBeGreaterThan(8);
    expect((await callComponent('skill', 'random', ['32'])).output).toEqual(output);
    expect((await callComponent('skill', 'random', ['32'], { seed: '22'.repeat(32) })).output).not.toEqual(
      output,
    );
  });

  it('does not make more random bytes than a memory holds', async () => {
    expect(await callComponent('skill', 'random', ['4294967295'])).toMatchObject({
      ending: 'trapped',
      code: 'host',
    });
  });

  it('knows its own configuration and nothing of the object that it is in', async () => {
    const config = { city: 'Oslo', '': 'empty' };
    expect(await callComponent('skill', 'config', ['city'], { config })).toMatchObject({ output: 'Oslo' });
    expect(await callComponent('skill', 'config', ['toString'], { config })).toMatchObject({ output: null });
  });
});

describe('what a component was not granted', () => {
  it('is not there, and the refusal names every grant that is lacking', async () => {
    const functions = ['capability_count', 'capability_handle', 'log'] as const;
    await expect(callComponent('skill', 'echo', [], { functions })).rejects.toMatchObject({
      code: 'link',
      message: expect.stringMatching(/^(?=.*--grant http=)(?=.*--grant random)(?!.*--grant log)/),
    });
  });
});
