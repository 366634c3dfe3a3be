import { describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { proberOf } from '../fixtures/commands/probe.ts';

/* A command writes more than anybody asked for: one quota over both streams, exactly kept, and little memory for it,
 * whether the command is ended for it or goes on. */

const KIB = 1024;
const MIB = KIB * KIB;
const NOTE =
  /\n\[palisade: (\d+) bytes of std(?:out|err) left out here; the limit of output is \d+ bytes\]\n/;
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
    const limits = { output_bytes: 64 * KIB };
    const end = await probe(`import os\nwhile True: ${write}`, { limits, output_overflow: 'kill' });
    expect(end).toMatchObject({ code: 'tier/output-exceeded', output: { limit: 'output', truncated: true } });
    const { stdout = '', stderr = '' } = end.output ?? {};
    expect(stdout.length + stderr.length).toBe(64 * KIB);
    expect(end.usage.outputBytes).toBe(64 * KIB);
  });

  test('of one line that never ends costs the gateway no more than the quota', async () => {
    const before = process.memoryUsage().rss;
    const program = 'import os\nb = b"x" * (1 << 20)\nfor i in range(1024): os.write(1, b)';
    const end = await probe(program, { limits: { output_bytes: 2 * MIB } });
    expect(end).toMatchObject({ code: 'ok', output: { truncated: true, limit: null } });
    expect(end.output?.stdout.replace(NOTE, '').length).toBe(2 * MIB);
    expect(end.output).toMatchObject({ omittedBytes: { stdout: 1022 * MIB, stderr: 0 } });
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * MIB);
  });

  test('is read for a while where the middle is left out, and then ends the command', async () => {
    const program = 'import os\nos.write(1, b"begin")\nwhile True: os.write(1, b"x" * 65536)';
    const end = await probe(program, { limits: { output_bytes: 64 * KIB } });
    expect(end).toMatchObject({ code: 'tier/output-exceeded', output: { limit: 'output', truncated: true } });
    expect(end.message).toContain(`more than ${1024 * MIB} bytes beyond its ${64 * KIB} bytes`);
    expect(end.output?.stdout).toMatch(/^beginx{1000}/);
    expect(end.output?.stdout).toMatch(/left out here.*\]\nx+$/);
    expect(end.output?.stdout.replace(NOTE, '').length).toBeLessThanOrEqual(64 * KIB);
  });

  test('that is cut within a character is text still', async () => {
    const program = 'import os\nwhile True: os.write(1, "é€😀".encode() * 1000)';
    const limits = { output_bytes: 10_001 };
    const end = await probe(program, { limits, output_overflow: 'kill' });
    expect(end.output).toMatchObject({ stdoutEncoding: 'utf-8', truncated: true });
    expect(end.output?.stdout.startsWith('é€😀é€😀')).toBe(true);
    expect(end.output?.stdout).not.toContain('�');
  });
});

describe('a command that writes more than is kept, and goes on', () => {
  const writing = (program: string, output_bytes: number, more: object = {}) =>
    probe(`import os, sys\n${program}`, { limits: { output_bytes, wall_ms: 20_000 }, ...more });

  test('has its beginning and its end in the result, the note between them, and the numbers beside it', async () => {
    const lines =
      'for i in range(100000): print("line", i)\nprint("error: the end", file=sys.stderr)\nsys.exit(7)';
    const end = await writing(lines, 10_000);
    expect(end).toMatchObject({ code: 'tier/exited', output: { exitCode: 7, limit: null, truncated: true } });
    const { stdout = '', stderr = '' } = end.output ?? {};
    expect(stderr).toBe('error: the end\n');
    const [note = '', omitted] = NOTE.exec(stdout) ?? [];
    const [head = '', tail = ''] = stdout.split(note);
    expect(head).toMatch(/^line 0\nline 1\n/);
    expect(tail).toMatch(/\nline 99998\nline 99999\n$/);
    const all = Array.from({ length: 100_000 }, (_, i) => `line ${i}\n`).join('');
    expect(head.length + tail.length + Number(omitted)).toBe(all.length);
    expect(end.output).toMatchObject({ omittedBytes: { stdout: Number(omitted), stderr: 0 } });
    expect(head.length + tail.length + stderr.length).toBeLessThanOrEqual(10_000);
    expect(end.usage.outputBytes).toBeLessThanOrEqual(10_000);
    expect(end.execution?.isolation).toMatchObject({ limit_output: 'cut' });
  });

  test('gets text for text, wherever it is cut', async () => {
    const program = 'sys.stdout.buffer.write("é€😀".encode() * 4000)\nprint("ž" * 4000, file=sys.stderr)';
    const ends = await Promise.all([10_001, 10_002, 10_003, 10_004].map((quota) => writing(program, quota)));
    for (const { code, output } of ends) {
      expect({ code, output }).toMatchObject({
        code: 'ok',
        output: { stdoutEncoding: 'utf-8', stderrEncoding: 'utf-8' },
      });
      expect((output?.stdout ?? '').replace(NOTE, '')).toMatch(/^[é€😀]+$/u);
      expect((output?.stderr ?? '').replace(NOTE, '')).toMatch(/^ž+\n$/);
    }
  });

  test('is still held by the clock and by its processor time', async () => {
    const flood = 'while True: os.write(1, b"x" * 64)';
    const limits = { output_bytes: 10_000, wall_ms: 20_000 };
    const end = await writing(flood, 0, { limits: { ...limits, wall_ms: 1_000 } });
    expect(end).toMatchObject({ code: 'tier/timed-out', output: { limit: 'wall', truncated: true } });
    const other = await writing(flood, 0, { limits: { ...limits, cpu_time_ms: 300 } });
    expect(other).toMatchObject({ code: 'tier/out-of-cpu', output: { limit: 'cpu', truncated: true } });
  });

  test('shows the note once to those who read along', async () => {
    const { stdout = '' } = (await writing('os.write(1, b"x" * 20000)', 10_000)).output ?? {};
    expect(stdout.split('[palisade: ')).toHaveLength(2);
  });
});

test('a note that the command prints itself changes no number', async () => {
  const end = await probe('print("\\n[palisade: 5 bytes of stdout left out here]")');
  expect(end.output).toMatchObject({ truncated: false, omittedBytes: { stdout: 0, stderr: 0 } });
});

test('exactly the quota is no offence, and one byte more is', async () => {
  const writing = (count: number) =>
    probe(`import os\nos.write(1, b"x" * ${count})`, {
      limits: { output_bytes: 5_000 },
      output_overflow: 'kill',
    });
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
