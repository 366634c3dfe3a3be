import { describe, expect, test } from 'vitest';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf, OFFSETS, packed, saying } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest says more than anybody asked for, or what would mean something else to the next reader. */

const MIB = 1024 * 1024;
const LOG_BYTES = 64 * 1024;

/** Logs the same again and again until its fuel ends, or so many times. */
const logs = (place: number, length: number, times = 1_000_000_000) => `
  (loop $again
    (call $log (i32.const 1) (i32.const ${place}) (i32.const ${length}))
    (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br_if $again (i32.lt_u (local.get $n) (i32.const ${times}))))
  ${listOf('(local.get $n)')}`;

/** A string of JSON of so many bytes in all. */
const says = (bytes: number) => `
  (memory.fill (i32.const ${OFFSETS.answer}) (i32.const 120) (i32.const ${bytes}))
  (i32.store8 (i32.const ${OFFSETS.answer}) (i32.const 34))
  (i32.store8 (i32.const ${OFFSETS.answer + bytes - 1}) (i32.const 34))
  ${packed(`(i32.const ${OFFSETS.answer})`, `(i32.const ${bytes})`)}`;

const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const REFUSED: Readonly<Record<string, string | Uint8Array>> = {
  'a key that sets a prototype': '{"__proto__":{"isAdmin":true}}',
  'such a key further inside': '{"a":[{"__proto__":null}]}',
  'such a key in other words': '{"\\u005f_proto__":1}',
  'a key twice': '{"a":1,"a":2}',
  'a key twice, once in other words': '{"a":1,"\\u0061":2}',
  'a number that no double holds': '9007199254740993',
  'a number without an end': '1e999',
  'a depth that a reader would fall over': deep(20_000),
  'a depth that is too much by one': deep(129),
  'half of a character': '"\\ud800"',
  'bytes that are not UTF-8': Buffer.from([0x22, 0xff, 0x22]),
  'a number that is none': 'NaN',
  'no value': 'undefined',
  'a comment': '/* */1',
  'a value and another': '1 2',
  'a comma too much': '[1,]',
  nothing: '',
  'a control character in a string': '"\n"',
  'a mark in front': '\ufeff1',
};
const TAKEN: Readonly<Record<string, string>> = {
  'a key that is called like a method': '{"constructor":1,"toString":2,"valueOf":3}',
  'what looks like a promise': '{"then":"call me"}',
  'a depth that is just bearable': deep(128),
  'the largest number that is exact': '9007199254740991',
};

const nameOf = (what: string) => `test.${what.replaceAll(/\W+/g, '-')}`;
const log = { grants: { log: true } };
const { call } = sharedModules(() => ({
  tools: [
    moduleTool('test.long-lines', guest(logs(0, 1_000)), log),
    moduleTool('test.empty-lines', guest(logs(0, 0)), log),
    moduleTool('test.control-lines', guest(logs(OFFSETS.said, 100)), log),
    moduleTool('test.huge-line', guest(logs(0, 500_000, 3)), log),
    moduleTool('test.few-lines', guest(logs(0, 10, 3)), log),
    moduleTool(
      'test.logs-and-falls',
      guest(`(call $log (i32.const 3) (i32.const 0) (i32.const 4)) (unreachable)`),
      log,
    ),
    ...[10_000, 10_001].map((bytes) =>
      moduleTool(`test.says-${bytes}`, guest(says(bytes)), { limits: { outputBytes: 10_000 } }),
    ),
    moduleTool('test.says-all', guest(packed('(i32.const 0)', '(i32.const -1)')), {}),
    moduleTool('test.fails-long', guest(`(call $fail (i32.const 0) (i32.const 400000)) (i64.const 0)`)),
    ...Object.entries(REFUSED).map(([what, text]) => moduleTool(nameOf(what), saying(text))),
    ...Object.entries(TAKEN).map(([what, text]) => moduleTool(nameOf(what), saying(text))),
    moduleTool('test.echo', guest(ECHO)),
  ],
}));

describe('a log', () => {
  test.each(['test.long-lines', 'test.empty-lines', 'test.control-lines'])(
    'without an end (%s) is cut at its quota, the reader is told, and the call goes on to its own end',
    async (tool) => {
      const before = process.memoryUsage().rss;
      const end = await call(tool);
      expect(end.code).toBe('tier/out-of-fuel');
      expect(end.isolation).toMatchObject({ isLogCut: true });
      expect(Buffer.byteLength(end.log)).toBeLessThan(LOG_BYTES + 200);
      expect(end.log).toMatch(/… and more: a log is cut at 65536 bytes\n$/);
      expect(process.memoryUsage().rss - before).toBeLessThan(100 * MIB);
      for (const { peakBytes } of engines()) expect(peakBytes).toBeLessThan(300 * MIB);
    },
  );

  test('of lines that are too long has none of them, and the call ends well', async () => {
    const end = await call('test.huge-line');
    expect(end).toMatchObject({ code: 'ok', output: [3], isolation: { isLogCut: true } });
    expect(end.log).toBe('… and more: a log is cut at 65536 bytes\n');
  });

  test('that is short is all there, also of a guest that fails afterwards', async () => {
    const end = await call('test.few-lines');
    expect(end).toMatchObject({ code: 'ok', isolation: { isLogCut: false } });
    expect(end.log.split('\n')).toHaveLength(4);
    expect((await call('test.logs-and-falls')).log).toMatch(/^error: /);
  });
});

describe('an output', () => {
  test('of exactly its quota is given, and one of a byte more is not', async () => {
    const end = await call('test.says-10000');
    expect([end.code, (end.output as string).length, end.usage.outputBytes]).toEqual(['ok', 9_998, 10_000]);
    expect(await call('test.says-10001')).toMatchObject({
      ...{ code: 'tier/output-exceeded', output: null, usage: { outputBytes: 0 } },
    });
  });

  test('that is said to be larger than all memory is not even looked for', async () => {
    const before = process.memoryUsage().rss;
    expect(await call('test.says-all')).toMatchObject({ code: 'tier/output-exceeded', output: null });
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * MIB);
  });

  test('of a failure is as short as a message may be', async () => {
    const end = await call('test.fails-long');
    expect(end.code).toBe('tier/tool-error');
    expect(end.message.length).toBeLessThan(4_500);
  });

  test.each(Object.keys(REFUSED))('that has %s is refused', async (what) => {
    expect(await call(nameOf(what))).toMatchObject({ code: 'tier/invalid-output', output: null });
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  test.each(Object.entries(TAKEN))('that has %s is data, and nothing else', async (what, text) => {
    const end = await call(nameOf(what));
    expect(end.code).toBe('ok');
    expect(JSON.stringify(end.output)).toBe(text);
    expect(await call('test.echo', { still: 'here' })).toMatchObject({ output: { still: 'here' } });
  });
});
