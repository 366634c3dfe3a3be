import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CallLog, readableName, safeLog, trapInWords } from '../../src/core/call-log.ts';
import { makeRedactor } from '../../src/core/redact.ts';

const EMPTY: CallLog = { lines: [], isCut: false, denied: [], deniedMore: 0, trap: [] };
const denial = (argument: string) => ({
  ...{ function: 'storage_get', argument, why: 'withheld', sentence: 's', remedy: 'r', times: 1 },
});
const same = <T>(value: T): T => value;

describe('safeLog()', () => {
  test('leaves nothing active in what a guest wrote, and keeps every line one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const log = { ...EMPTY, lines: [{ level: 'info', text }], denied: [denial(text)] };
        const trap = [{ function: 1, name: text }];
        const safe = JSON.stringify(safeLog({ ...log, trap }, same));
        expect(safe).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  test('removes a secret before it cuts or quotes, so that no part of one is left', () => {
    const value = 'sk-live-0123456789abcdef';
    const redact = makeRedactor([{ name: 'KEY', value }]);
    const text = `${'x'.repeat(110)}${value}`;
    const safe = safeLog(
      { ...EMPTY, lines: [{ level: 'info', text: `got ${value}\n` }], denied: [denial(text)] },
      redact,
    );
    expect(safe.lines[0]?.text).toBe('got [redacted:KEY]\\u{a}');
    expect(safe.denied[0]?.argument).not.toContain('sk-live');
    // A text without one is cut, too, and is there otherwise.
    expect(safeLog({ ...EMPTY, denied: [denial('notes/a')] }, redact).denied[0]?.argument).toBe('notes/a');
  });
});

test('trapInWords() says the line, and leaves callers out that a language added', () => {
  const frames = [
    { function: 9, name: 'rust_panic', source: '/usr/src/lib.rs:84' },
    { function: 8, name: readableName('_ZN3std9panicking20rust_panic_with_hook17h1b1329eaa36c7fa5E') },
    { function: 3, name: readableName('_ZN5skill4slug17h0123456789abcdefE'), source: 'src/skill.rs:30' },
  ];
  expect(trapInWords(frames)).toBe(
    'in "rust_panic" (function 9) at /usr/src/lib.rs:84, called by "skill::slug" (function 3) at src/skill.rs:30',
  );
  expect(trapInWords(frames.slice(0, 2))).toContain('called by "std::panicking::rust_panic_with_hook"');
  expect(trapInWords([{ function: 1, name: null, source: 'a\nb:1' }])).not.toContain('\n');
});

test.each(['main', '_ZN3stdE', '_ZN99x17h0123456789abcdefE', '_ZN17h0123456789abcdefE', '_ZN0E', ''])(
  'readableName() keeps %j',
  (name) => {
    expect(readableName(name)).toBe(name);
  },
);

test('trapInWords() names functions in quotes, and by their index where they have no name', () => {
  const frames = [
    { function: 12, name: 'parse" (function 1), called by "main' },
    { function: 3, name: null },
  ];
  expect(trapInWords(frames)).toBe(
    'in "parse\\" (function 1), called by \\"main" (function 12), called by function 3',
  );
  expect(trapInWords([])).toBe('');
});
