import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { ByteStore } from '../../../src/tiers/child/output.ts';
import {
  type LauncherStatus,
  lastWordIn,
  MAX_STATUS_BYTES,
  parseStatus,
} from '../../../src/tiers/child/status.ts';
import { bytesOf } from './sample.ts';

const FULL = [
  'launcher=1',
  'fact.uid=1000',
  'fact.ns.user=4026531837',
  'fact.uid_map=0 1000 1',
  'fact.mounts_rw=/workspace,/tmp',
  'fact.cgroup=0::/a\\x5cb;1:x=y:/',
  'fact.rlimit.cpu=2',
  'fact.groups=',
  'pid=4711',
  'limit=wall',
  'cancelled=1',
  'exit=7',
  'utime_us=12345',
  'stime_us=67',
  'lost_us=8',
  'maxrss_kb=8192',
  'inblock=0',
  'oublock=16',
  'wall_us=999999999999999',
  'output_bytes=42',
  'left=3',
  'done=1',
];

const spell = (lines: readonly string[]) => bytesOf(lines.map((line) => `${line}\n`).join(''));

function statusOf(lines: readonly string[]): LauncherStatus {
  const parsed = parseStatus(spell(lines));
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

function messageOf(raw: Uint8Array): string {
  const parsed = parseStatus(raw);
  return parsed.ok ? `read as ${JSON.stringify(parsed.value)}` : parsed.problem;
}

const NOTHING: LauncherStatus = {
  facts: {},
  pid: null,
  exit: null,
  signal: null,
  limit: null,
  cancelled: false,
  execError: null,
  failed: null,
  usage: null,
  outputBytes: null,
  dropped: { stdout: 0, stderr: 0 },
  outward: null,
  left: null,
  done: false,
};

describe('parseStatus() reads', () => {
  it('all that a launcher says', () => {
    expect(statusOf(FULL)).toEqual({
      ...NOTHING,
      facts: {
        uid: '1000',
        'ns.user': '4026531837',
        uid_map: '0 1000 1',
        mounts_rw: '/workspace,/tmp',
        cgroup: '0::/a\\x5cb;1:x=y:/',
        'rlimit.cpu': '2',
        groups: '',
      },
      pid: 4711,
      limit: 'wall',
      cancelled: true,
      exit: 7,
      usage: {
        userUs: 12345,
        systemUs: 67,
        lostUs: 8,
        maxRssKb: 8192,
        readBlocks: 0,
        writeBlocks: 16,
        wallUs: 999_999_999_999_999,
      },
      outputBytes: 42,
      left: 3,
      done: true,
    });
  });

  it('nothing of a launcher that said nothing', () => {
    expect(statusOf([])).toEqual(NOTHING);
    expect(statusOf(['launcher=1'])).toEqual(NOTHING);
  });

  it.each<[string, Partial<LauncherStatus>]>([
    ['signal=9', { signal: 9 }],
    ['signal=64', { signal: 64 }],
    ['exit=0', { exit: 0 }],
    ['exit=255', { exit: 255 }],
    ['limit=cpu', { limit: 'cpu' }],
    ['limit=output', { limit: 'output' }],
    ['execerror=2 ENOENT', { execError: { errno: 2, name: 'ENOENT' } }],
    ['execerror=7 E2BIG', { execError: { errno: 7, name: 'E2BIG' } }],
    ['failed=open_tree errno=38 ENOSYS', { failed: { step: 'open_tree', errno: 38, name: 'ENOSYS' } }],
    ['fact.constructor=x', { facts: { constructor: 'x' } as unknown as Record<string, string> }],
  ])('%s', (line, value) => {
    expect(statusOf(['launcher=1', line])).toEqual({ ...NOTHING, ...value });
  });

  it('a failure before anything else was said', () => {
    const failed = { step: 'host-root', errno: 1, name: 'EPERM' };
    expect(statusOf(['failed=host-root errno=1 EPERM'])).toEqual({ ...NOTHING, failed });
  });

  it('no usage where a part of it is missing', () => {
    const parts = FULL.filter((line) => /^(?:utime|stime|lost|maxrss|inblock|oublock|wall)/.test(line));
    expect(parts).toHaveLength(7);
    expect(statusOf(['launcher=1', ...parts]).usage).not.toBeNull();
    for (const missing of parts) {
      expect(statusOf(['launcher=1', ...parts.filter((part) => part !== missing)]).usage).toBeNull();
    }
  });

  it('facts that have no prototype to be found in', () => {
    expect('toString' in statusOf(FULL).facts).toBe(false);
  });
});

describe('parseStatus() refuses', () => {
  it.each([
    ['another version', ['launcher=2'], 'line 1 has a value of another form than that of "launcher"'],
    [
      'what does not begin with the version',
      ['exit=0'],
      'line 1 has the key "exit", expected "launcher" first',
    ],
    ['a second version', ['launcher=1', 'launcher=1'], 'line 2 has the key "launcher" again'],
    ['a second end', ['launcher=1', 'exit=1', 'exit=0'], 'line 3 has the key "exit" again, expected it once'],
    ['a second end of the same', ['launcher=1', 'exit=0', 'exit=0'], 'line 3 has the key "exit" again'],
    [
      'another end',
      ['launcher=1', 'signal=9', 'exit=0'],
      'line 3 has the key "exit", expected one end alone',
    ],
    ['another death', ['launcher=1', 'exit=0', 'signal=9'], 'expected one end alone'],
    ['a second fact', ['launcher=1', 'fact.uid=0', 'fact.uid=1'], 'has the key "fact.uid" again'],
    [
      'what comes after the last',
      ['launcher=1', 'exit=0', 'done=1', 'left=0'],
      'expected nothing after "done"',
    ],
    [
      'a last without an end',
      ['launcher=1', 'done=1'],
      'line 2 has the key "done", expected an end before it',
    ],
    ['a key that is not known', ['launcher=1', 'root=1'], 'line 2 has no key that is known'],
    ['a key of objects', ['launcher=1', 'constructor=1'], 'line 2 has no key that is known'],
    ['the prototype as a fact', ['launcher=1', 'fact.__proto__=1'], 'line 2 has no key that is known'],
    ['an empty line', ['launcher=1', ''], 'line 2 has no key that is known'],
    ['a line without a value', ['launcher=1', 'exit'], 'line 2 has no key that is known'],
    [
      'a key of endless length',
      ['launcher=1', `fact.${'x'.repeat(99)}=1`],
      'line 2 has no key that is known',
    ],
  ])('%s', (_, lines, message) => {
    expect(messageOf(spell(lines))).toContain(`Cannot read the status of the launcher: `);
    expect(messageOf(spell(lines))).toContain(message);
  });

  it.each([
    ...['exit=', 'exit=256', 'exit=-1', 'exit=+1', 'exit=01', 'exit=1 ', 'exit= 1', 'exit=1e2', 'exit=0x1'],
    ...['exit=1\r', 'exit=\u0661', 'signal=0', 'signal=65', 'signal=KILL', 'limit=memory', 'limit=', 'pid=0'],
    ...['cancelled=0', 'cancelled=', 'done=0', 'left=1000000000000000', 'utime_us=1.5', 'wall_us=NaN'],
    ...['execerror=ENOENT', 'execerror=2', 'execerror=2  ENOENT', 'execerror=2 enoent', 'execerror=0 EOK'],
    ...['failed=x', 'failed=x errno= ENOENT', 'failed= errno=2 ENOENT', 'failed=a b errno=2 ENOENT'],
    ...[
      'fact.uid=\t',
      'fact.uid=\x7f',
      'fact.uid=é',
      'fact.uid=\\',
      'fact.uid=\\n',
      'fact.uid=\\x5',
      'fact.uid=\\xgg',
    ],
  ])('the value of %j', (line) => {
    const value = 'line 2 has a value of another form';
    expect(messageOf(spell(['launcher=1', line]))).toContain(value);
  });

  it('more bytes and more lines than any launcher says', () => {
    const long = `launcher=1\nfact.cgroup=${'x'.repeat(MAX_STATUS_BYTES)}\n`;
    expect(messageOf(bytesOf(long))).toContain(`expected at most ${MAX_STATUS_BYTES}`);
    expect(statusOf(['launcher=1', `fact.cgroup=${'x'.repeat(MAX_STATUS_BYTES - 30)}`]).facts.cgroup).toMatch(
      /^x+$/,
    );
    const many = Array.from({ length: 300 }, (_, index) => `fact.f${index}=`);
    expect(messageOf(spell(['launcher=1', ...many]))).toContain('has 301 lines, expected at most 256');
  });
});

describe('parseStatus() whatever comes', () => {
  /** Words of the grammar in any order, and bytes in between: near enough to be mistaken. */
  const near = fc
    .array(fc.oneof(fc.constantFrom(...FULL, 'signal=9'), fc.string({ maxLength: 5 })), { maxLength: 12 })
    .chain((lines) => fc.constantFrom('\n', '\n\n', '', '=').map((end) => bytesOf(lines.join('\n') + end)));

  it('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), near), (raw) => {
        expect(typeof parseStatus(raw).ok).toBe('boolean');
      }),
      { numRuns: volume(1_000, 30) },
    );
  });

  it('takes nothing that is cut off for another value', () => {
    const whole = statusOf(FULL);
    const raw = spell(FULL);
    for (let length = 0; length <= raw.length; length++) {
      const parsed = parseStatus(raw.subarray(0, length));
      if (!parsed.ok) throw new Error(parsed.problem);
      const { facts, ...others } = parsed.value;
      expect(whole.facts).toMatchObject({ ...facts });
      for (const [key, value] of Object.entries(others)) {
        expect([NOTHING[key as keyof LauncherStatus], whole[key as keyof LauncherStatus]]).toContainEqual(
          value,
        );
      }
      expect(parsed.value.done).toBe(length === raw.length);
    }
  });

  it('lets nobody who comes later change what was said', () => {
    fc.assert(
      fc.property(fc.nat(FULL.length - 1), near, (count, later) => {
        const observed = FULL.slice(0, count + 1);
        const first = statusOf(observed);
        const parsed = parseStatus(Buffer.concat([spell(observed), later]));
        if (!parsed.ok) return;
        const { facts, usage, ...others } = first;
        expect(parsed.value.facts).toMatchObject({ ...facts });
        if (usage !== null) expect(parsed.value.usage).toEqual(usage);
        for (const [key, value] of Object.entries(others)) {
          if (value !== null && value !== false) expect(parsed.value).toHaveProperty(key, value);
        }
      }),
      { numRuns: volume(1_000, 30) },
    );
  });
});

describe('lastWordIn()', () => {
  const wordOf = (raw: Uint8Array) => {
    const observed = new ByteStore();
    observed.append(raw);
    return lastWordIn(observed);
  };
  const ending = (lines: readonly string[]) => wordOf(spell(['launcher=1', 'exit=0', ...lines]));

  it('gives how much was written once all was said, and not a byte earlier', () => {
    const raw = spell(FULL);
    expect(wordOf(raw)).toBe(42);
    for (let length = 0; length < raw.length; length++) expect(wordOf(raw.subarray(0, length))).toBeNull();
  });

  it.each([
    ['0', 0],
    ['999999999999999', 999_999_999_999_999],
  ])('reads the amount of %s', (amount, bytes) => {
    expect(ending([`output_bytes=${amount}`, 'left=999999999999999', 'done=1'])).toBe(bytes);
  });

  it('finds it after a long report, whatever the pieces it came in', () => {
    const raw = spell(['launcher=1', `fact.cgroup=${'x'.repeat(100_000)}`, ...FULL.slice(-5)]);
    const observed = new ByteStore();
    for (let at = 0; at < raw.length; at += 997) {
      expect(lastWordIn(observed)).toBeNull();
      observed.append(raw.subarray(at, at + 997));
    }
    expect(lastWordIn(observed)).toBe(42);
  });

  it.each<[string, readonly string[]]>([
    ['that is not the last', ['output_bytes=42', 'left=3', 'done=1', 'fact.late=']],
    ['that is said as a fact', ['fact.path=output_bytes=42', 'left=3', 'done=1']],
    ['without the amount', ['left=3', 'done=1']],
    ['without what is left', ['output_bytes=42', 'done=1']],
    ['with something in between', ['output_bytes=42', 'left=3', 'exit=0', 'done=1']],
    ['in another order', ['left=3', 'output_bytes=42', 'done=1']],
    ['with an amount of another form', ['output_bytes=042', 'left=3', 'done=1']],
    ['with a negative amount', ['output_bytes=-1', 'left=3', 'done=1']],
    ['with an endless amount', ['output_bytes=1000000000000000', 'left=3', 'done=1']],
    ['that takes itself back', ['output_bytes=42', 'left=3', 'done=0']],
    ['after an empty line', ['output_bytes=42', 'left=3', 'done=1', '']],
  ])('takes nothing %s for it', (_, lines) => {
    expect(ending(lines)).toBeNull();
  });

  it('takes nothing for it that stands at the very beginning', () => {
    expect(wordOf(spell(['output_bytes=42', 'left=3', 'done=1']))).toBeNull();
  });

  it('gives nothing but what a report says that is read afterwards', () => {
    const line = fc.oneof(fc.constantFrom(...FULL), fc.string({ maxLength: 5 }));
    const lines = fc.tuple(fc.array(line, { maxLength: 8 }), fc.nat(3)).map(([first, count]) => {
      return ['launcher=1', 'exit=0', ...first, ...FULL.slice(FULL.length - count)];
    });
    fc.assert(
      fc.property(lines, (all) => {
        const raw = spell(all);
        const parsed = parseStatus(raw);
        if (parsed.ok) expect(wordOf(raw) === null || wordOf(raw) === parsed.value.outputBytes).toBe(true);
      }),
      { numRuns: volume(1_000, 30) },
    );
  });
});
