import { describe, expect, test } from 'vitest';
import { readReport } from '../vitest-report.mjs';

const file = (...statuses: string[]) => ({
  name: 'a.test.ts',
  status: statuses.includes('failed') ? 'failed' : 'passed',
  assertionResults: statuses.map((status) => ({ status, fullName: `a ${status} test` })),
});
const unloadable = { name: 'b.test.ts', status: 'failed', assertionResults: [] };

type Run = { ok: boolean; platform: string };
const linux: Run = { ok: true, platform: 'linux' };

const rows: readonly (readonly [
  what: string,
  files: object[] | undefined,
  run: Run,
  counts: [number, number],
])[] = [
  ['passed tests', [file('passed', 'passed'), file('passed')], linux, [3, 0]],
  ['failed tests', [file('passed', 'failed')], { ...linux, ok: false }, [1, 1]],
  ['a skipped test on Linux as failed', [file('passed', 'skipped')], linux, [1, 1]],
  ['a test to do on Linux as failed', [file('passed', 'todo')], linux, [1, 1]],
  [
    'a skipped test elsewhere as nothing',
    [file('passed', 'skipped')],
    { ...linux, platform: 'darwin' },
    [1, 0],
  ],
  ['a file that did not load as failed', [file('passed'), unloadable], { ...linux, ok: false }, [1, 1]],
  ['an error outside any test as failed', [file('passed')], { ...linux, ok: false }, [1, 1]],
  ['a run without tests as failed', [], linux, [0, 1]],
  ['a run without a report as failed', undefined, linux, [0, 1]],
];

describe('readReport()', () => {
  test.each(rows)('counts %s', (_, files, run, [passed, failed]) => {
    const text = files && JSON.stringify({ testResults: files });
    expect(readReport(text, run)).toMatchObject({ passed, failed });
  });

  test('names each failed test, its file and the first line of its reason', () => {
    const failed = {
      status: 'failed',
      fullName: 'a test',
      failureMessages: ['1 is not 2\n    at a.test.ts:3'],
    };
    const files = [{ name: 'a.test.ts', status: 'failed', assertionResults: [failed] }];
    const { notes } = readReport(JSON.stringify({ testResults: files }), { ...linux, ok: false });
    expect(notes).toEqual(['FAIL "a test" in a.test.ts: 1 is not 2']);
  });
});
