import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { formatPort, parsePort, parsePortRange } from '../../src/core/ports.ts';

const port = fc.integer({ min: 1024, max: 65_535 });

describe('parsePort()', () => {
  it('reads what formatPort() writes, and a number', () => {
    fc.assert(
      fc.property(port, port, (host, inside) => {
        expect(parsePort(formatPort({ host, inside }))).toEqual({ ok: true, value: { host, inside } });
        expect(parsePort(host)).toEqual({ ok: true, value: { host, inside: host } });
      }),
      { numRuns: volume(2000, 100) },
    );
  });

  it.each([
    0,
    80,
    1023,
    65_536,
    5173.5,
    -5173,
    '',
    '05173',
    ' 5173',
    '5173\n',
    '5173:',
    ':5173',
    '5173:80',
    '80:5173',
    '1:2:3',
    '127.0.0.1:5173',
    '0x1435',
    null,
    true,
    [5173],
  ])('refuses %j', (raw) => {
    expect(parsePort(raw)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('expected a port from 1024'),
    });
  });

  it('accepts nothing but two ports, whatever the text', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9:. -]{0,12}$/), (text) => {
        const parsed = parsePort(text);
        if (parsed.ok) expect(text).toMatch(/^[1-9]\d{3,4}(:[1-9]\d{3,4})?$/);
      }),
      { numRuns: volume(4000, 200) },
    );
  });
});

describe('parsePortRange()', () => {
  it('reads a port and a range', () => {
    expect(parsePortRange('5173')).toEqual({ from: 5173, to: 5173 });
    expect(parsePortRange('1024-65535')).toEqual({ from: 1024, to: 65_535 });
  });

  it.each([
    '',
    '*',
    '80',
    '8000-',
    '-8000',
    '9000-8000',
    '1023-2000',
    '8000-65536',
    '8000 - 9000',
    '8000-9000-9500',
  ])('refuses %j', (text) => {
    expect(parsePortRange(text)).toBeNull();
  });
});
