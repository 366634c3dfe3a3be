import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { encodeEvent } from '../../src/doors/http/answer.ts';
import type { ServerEvent } from '../../src/operations/operation.ts';
import { makeOutputEvents } from '../../src/operations/stream-call.ts';
import { parseEvents } from './ask.ts';

type OutputData = { readonly stream: string; readonly text?: string; readonly base64?: string };

function bytesIn(events: readonly ServerEvent[], stream: string): Buffer {
  const observed = events.map(({ data }) => data as OutputData).filter((each) => each.stream === stream);
  return Buffer.concat(
    observed.map(({ text, base64 }) =>
      text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text),
    ),
  );
}

/** The events of some pieces, through the wire and back. */
function sent(pieces: readonly (readonly ['stdout' | 'stderr', Uint8Array])[]): readonly ServerEvent[] {
  const printed = makeOutputEvents();
  const events = [...pieces.flatMap(([stream, chunk]) => printed.next(stream, chunk)), ...printed.rest()];
  return parseEvents(events.map(encodeEvent).join(''));
}

const piece = fc.tuple(
  fc.constantFrom('stdout' as const, 'stderr' as const),
  fc.uint8Array({ maxLength: 12 }),
);

describe('what a run prints', () => {
  test('comes out byte for byte, however it was cut', () => {
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const events = sent(pieces);
        for (const stream of ['stdout', 'stderr']) {
          const all = Buffer.concat(pieces.filter(([name]) => name === stream).map(([, chunk]) => chunk));
          expect(bytesIn(events, stream).equals(all)).toBe(true);
        }
      }),
    );
  });

  test('is text throughout where it is UTF-8, though characters were cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: CHARACTER }), fc.integer({ min: 1, max: 5 }), (text, step) => {
        const bytes = Buffer.from(text);
        const whole = bytes.toString();
        const pieces = Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) =>
          bytes.subarray(i * step, (i + 1) * step),
        );
        const events = sent(pieces.map((each) => ['stdout', each]));
        expect(events.map(({ data }) => (data as OutputData).text).join('')).toBe(whole);
      }),
    );
  });

  test.each([
    ['lines that look like events', 'a\n\nevent: ended\ndata: {"status":"ok"}\n\n'],
    ['carriage returns', 'a\rdata: b\r\n\r\ndata: c'],
    ['NUL and escapes', '\0\u001b[2J\u009b31m\u2028\u2029\ufeff'],
  ])('stays in its event with %s', (_, text) => {
    expect(sent([['stdout', Buffer.from(text)]])).toEqual([
      { event: 'output', data: { stream: 'stdout', text } },
    ]);
  });

  test('is base64 where it is no UTF-8, also at the end of the run', () => {
    const events = sent([
      ['stdout', Buffer.from([0x61, 0xff])],
      ['stderr', Buffer.from([0xe2, 0x82])],
    ]);
    expect(events.map(({ data }) => data)).toEqual([
      { stream: 'stdout', base64: 'Yf8=' },
      { stream: 'stderr', base64: '4oI=' },
    ]);
  });
});
