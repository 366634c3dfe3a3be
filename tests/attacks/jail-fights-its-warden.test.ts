import { describe, expect, test } from 'vitest';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { answersIn, tryInside } from '../fixtures/jail/index.ts';

const PROGRAM = 'fights-its-warden.py';
const MIB = 1024 * 1024;

describe('a command that turns against the launcher that watches it', () => {
  const jail = sharedGateway();
  const python = (script: string, limits: object = {}): Promise<CommandEnd> =>
    jail.run({ command: '/usr/bin/python3', args: ['-c', script], tier: 'c', limits });

  test('is neither believed nor let go, whatever it sends and writes', async () => {
    const { end, answers } = await tryInside(jail, PROGRAM, {}, { args: ['-B', PROGRAM] });
    expect(end, end.message).toMatchObject({
      code: 'tier/exited',
      output: { exitCode: 7, signal: null, limit: null },
    });
    expect(end.execution).toMatchObject({ tier: 'c', isolation: { seccomp: '2', boundary: 'bubblewrap' } });
    const written = Object.keys(answers).filter((probe) => probe.startsWith('descriptor '));
    expect(written.filter((probe) => answers[probe] === 'written')).toEqual([]);
    expect(answers.memory).toBe('EACCES');
    // The signals do arrive; they are of no use.
    expect(answers['signal 9']).toBe('sent');
  });

  test.each(['TERM', 'INT', 'HUP'])(
    'is not taken for a call that its caller cancelled, after SIG%s',
    async (name) => {
      const end = await jail.run({
        command: 'sh',
        args: ['-c', `kill -${name} 1; sleep 1; echo on`],
        tier: 'c',
      });
      expect(end, end.message).toMatchObject({ code: 'ok', output: { stdout: 'on\n' } });
    },
  );

  test('ends when its first process ends, though others hold its output and have left its session', async () => {
    const daemon = 'import os,time\nfor _ in range(3):\n  if os.fork()==0:\n    os.setsid()\n';
    const end = await python(
      `${daemon}    if os.fork()==0: time.sleep(600)\n    os._exit(0)\nprint("gone")\n`,
    );
    expect(end, end.message).toMatchObject({
      code: 'ok',
      output: { stdout: 'gone\n', processesKilledAtEnd: 3 },
    });
  });

  test('is held by the wall clock when it closes its output and ignores every signal', async () => {
    const script =
      'import os,signal,time\nfor n in range(1,65):\n  try: signal.signal(n, signal.SIG_IGN)\n  except (OSError, ValueError): pass\nos.closerange(0,3)\ntime.sleep(600)';
    const end = await python(script, { wall_ms: 1000 });
    expect(end, end.message).toMatchObject({ code: 'tier/timed-out', output: { limit: 'wall' } });
  });

  test.each([
    ['on both streams in turn', 'import os\nwhile True:\n  os.write(1, b"x"*4096)\n  os.write(2, b"y"*4096)'],
    ['in one line', 'import os\nwhile True: os.write(1, b"x"*1048576)'],
    [
      'byte by byte from many processes',
      'import os\nfor _ in range(4): os.fork()\nwhile True: os.write(1, b"\\n")',
    ],
  ])('is held at its quota of output %s', async (_, script) => {
    const end = await python(script, { output_bytes: 65_536, wall_ms: 1_500 });
    expect(end, end.message).toMatchObject({ output: { truncated: true } });
    // A fast machine reads all that is read of a flood in this time.
    expect(['tier/timed-out', 'tier/output-exceeded']).toContain(end.code);
    const notes = /\n\[palisade: [^\n]*\]\n/g;
    const [stdout = '', stderr = ''] = [end.output?.stdout, end.output?.stderr];
    expect((stdout + stderr).replace(notes, '').length).toBe(65_536);
    expect(end.usage.outputBytes).toBe(65_536);
  });

  test('has the time of its whole tree counted, also under a name that forges its numbers', async () => {
    const named = 'import ctypes,os\nctypes.CDLL(None).prctl(15, b") R 0 0 0 0", 0, 0, 0)\n';
    const end = await python(`${named}for _ in range(3): os.fork()\nwhile True: pass`, { cpu_time_ms: 800 });
    expect(end, end.message).toMatchObject({ code: 'tier/out-of-cpu', output: { limit: 'cpu' } });
  });

  test('has the time counted of children that are gone at once', async () => {
    const script =
      'import os\nwhile True:\n  if os.fork()==0:\n    sum(range(200000)); os._exit(0)\n  os.wait()';
    const end = await python(script, { cpu_time_ms: 800 });
    expect(end, end.message).toMatchObject({ code: 'tier/out-of-cpu' });
  });

  test('has as many processes as it may, zombies among them, and the next run has them again', async () => {
    const script =
      'import os,time\nmade=0\ntry:\n  while True:\n    if os.fork()==0: os._exit(0)\n    made+=1\nexcept OSError: print(made)';
    for (const _ of [1, 2]) {
      const end = await python(script, { processes: 16 });
      expect(end, end.message).toMatchObject({ code: 'ok', output: { stdout: '15\n' } });
    }
  });

  test('ends with all of its bombs, of processes and memory at once', async () => {
    const script =
      'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass\n  held = bytearray(8 << 20)';
    const end = await python(script, {
      processes: 64,
      memory_bytes: 64 * MIB,
      wall_ms: 3000,
      cpu_time_ms: 3000,
    });
    expect(['tier/timed-out', 'tier/out-of-cpu', 'tier/out-of-memory', 'tier/exited']).toContain(end.code);
    expect(await python('print("well")')).toMatchObject({ code: 'ok', output: { stdout: 'well\n' } });
  });

  test('fills its places in memory up to its memory and not beyond', async () => {
    const script = `
import os, json
for place in ['/tmp', '/dev/shm', os.environ['HOME']]:
    count = 0
    try:
        with open(place + '/fill', 'wb', buffering=0) as file:
            while True: count += file.write(bytes(1 << 20))
    except OSError as error:
        print(json.dumps([place, str(count >> 20) + ' ' + os.strerror(error.errno)]), flush=True)
`;
    const end = await python(script, { memory_bytes: 64 * MIB });
    const held = Object.values(answersIn(end.output?.stdout ?? '')).map((answer) =>
      Number.parseInt(answer, 10),
    );
    expect(held.reduce((sum, mib) => sum + mib, 0)).toBeLessThanOrEqual(64);
    expect(held.length > 0 || end.code === 'tier/out-of-memory').toBe(true);
    const unlimited = await python(script.replaceAll('while True', 'for _ in range(40)'));
    expect(unlimited, unlimited.message).toMatchObject({ code: 'ok', output: { stdout: '' } });
  });
});
