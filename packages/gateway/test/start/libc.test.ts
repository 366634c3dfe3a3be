import { expect, test } from 'vitest';
import { withLibcReport } from '../../src/start/libc.ts';

type Header = { readonly header: { readonly glibcVersionRuntime?: string } };

test('while libsql is loaded, the report says what the whole one says of the C library', () => {
  const whole = process.report?.getReport() as unknown as Header;
  const told = withLibcReport(() => process.report?.getReport()) as unknown as Header;
  expect('glibcVersionRuntime' in told.header).toBe('glibcVersionRuntime' in whole.header);
});

test('afterwards the report is whole again, also where loading fails', () => {
  const before = process.report?.getReport;
  expect(() =>
    withLibcReport(() => {
      throw new Error('no such file');
    }),
  ).toThrow('no such file');
  expect(process.report?.getReport).toBe(before);
});
