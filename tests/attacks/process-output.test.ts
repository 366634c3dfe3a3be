import { describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { proberOf } from '../fixtures/commands/probe.ts';

/* A command writes more than anybody asked for: one quota over both streams, exactly kept, and little memory for it. */

const KIB = 1024;
const MIB = KIB * KIB;
const gateway = sharedGateway();
const probe = proberOf(gateway);

describe('output without end', () => {
  test.each([
    ['to standard output', 'os.write(1, b"x" * 65536)'],
    ['to standard error', 'os.write(2, b"x" * 65536)'],
    ['in turns', 'os.write(1, b"o" * 1000); os.write(2, b"e" * 1000)'],
    ['a byte at a time', 'os.write(1, b"x"); os.write(2, b"y")'],
    [
      'by children',
      'os.fork() == 0 and [os.write(1, b"c" * 4096) for i in range(20)] and os._exit(0); os.wait()',
    ],
    ['through the name of the stream', 'open("/dev/stdout", "w").write("x" * 65536)'],
  ])('%s is cut at the quota of both streams, and the command is ended', async (_, write) => {
    const end = await probe(`import os\nwhile True: ${write}`, { limits: { output_bytes: 64 * KIB } });
    expect(end).toMatchObject({ code: 'tier/output-exceeded', output: { limit: 'output', truncated: true } });
    const { stdout = '', stderr = '' } = end.output ?? {};
    expect(stdout.length + stderr.length).toBe(64 * KIB);
    expect(end.usage.outputBytes).toBe(64 * KIB);
  });

  test('of one line that never ends costs the gateway no more than the quota', async () => {
    const before = process.memoryUsage().rss;
    const program = 'import os\nb = b"x" * (1 << 20)\nfor i in range(1024): os.write(1, b)';
    const end = await probe(program, { limits: { output_bytes: 2 * MIB } });
    expect(end).toMatchObject({ code: 'tier/output-exceeded', output: { truncated: true } });
    expect(end.output?.stdout.length).toBe(2 * MIB);
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * MIB);
  });

  test('that is cut within a character is text still', async () => {
    const program = 'import os\nwhile True: os.write(1, "é€😀".encode() * 1000)';
    const end = await probe(program, { limits: { output_bytes: 10_001 } });
    expect(end.output).toMatchObject({ stdoutEncoding: 'utf-8', truncated: true });
    expect(end.output?.stdout.startsWith('é€😀é€😀')).toBe(true);
    expect(end.output?.stdout).not.toContain('�');
  });
});

test('exactly the quota is no offence, and one byte more is', async () => {
  const writing = (count: number) =>
    probe(`import os\nos.write(1, b"x" * ${count})`, { limits: { output_bytes: 5_000 } });
  expect(await writing(5_000)).toMatchObject({ code: 'ok', output: { truncated: false, limit: null } });
  expect(await writing(5_001)).toMatchObject({ code: 'tier/output-exceeded', output: { truncated: true } });
});

test('a command that closes its streams and goes on is still held by the clock', async () => {
  const program = 'import os, time\nos.write(1, b"bye")\nos.close(1); os.close(2)\ntime.sleep(600)';
  const end = await probe(program, { limits: { wall_ms: 2_000 } });
  expect(end).toMatchObject({ code: 'tier/timed-out', output: { stdout: 'bye', limit: 'wall' } });
});

test('bytes that are no text come back whole', async () => {
  const end = await probe('import os\nos.write(1, bytes(range(256)))');
  expect(end.output).toMatchObject({ stdoutEncoding: 'base64', truncated: false });
  expect([...Buffer.from(end.output?.stdout ?? '', 'base64')]).toEqual([...Array(256).keys()]);
});
