import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import {
  eventsOf,
  MalformedEvents,
  makeEventParser,
  type StreamEvent,
} from '../../src/client/server-events.ts';
import { toUtf8 } from '../../src/index.ts';

function parse(...pieces: (string | Uint8Array)[]): StreamEvent[] {
  const parser = makeEventParser();
  return pieces.flatMap((piece) => parser.push(typeof piece === 'string' ? toUtf8(piece) : piece));
}

/** A reader of the whole text at once, written line by line from the format and sharing nothing with the parser. */
function readWhole(text: string): StreamEvent[] {
  const events: StreamEvent[] = [];
  const fields = { event: 'message', id: '', data: null as string | null };
  const lines = text
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .split('\n');
  for (const line of lines.slice(0, -1)) {
    const [, field = '', value = ''] = /^([^:]*)(?::[ ]?(.*))?$/s.exec(line) ?? [];
    if (line === '') {
      if (fields.data !== null) events.push({ event: fields.event, id: fields.id, data: fields.data });
      Object.assign(fields, { event: 'message', data: null });
    } else if (field === 'data') fields.data = fields.data === null ? value : `${fields.data}\n${value}`;
    else if (field === 'event') fields.event = value === '' ? 'message' : value;
    else if (field === 'id' && !value.includes('\0')) fields.id = value;
  }
  return events;
}

/** Cuts bytes at any places, empty pieces included. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.slice(at[index], end));
}

const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
const word = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom('', ' ', ' x', ':', 'data', '\0', '🙂', '\uFEFF'),
);
const field = fc.constantFrom('data', 'event', 'id', 'retry', '', 'Data', 'other', 'data ');
const line = fc.oneof(
  fc.tuple(field, fc.constantFrom(':', ': ', ':  ', ''), word).map((parts) => parts.join('')),
  fc.constant(''),
  word,
);
const stream = fc
  .tuple(
    fc.constantFrom('', '\uFEFF'),
    fc.array(fc.tuple(line, lineEnd).map((parts) => parts.join(''))),
    word,
  )
  .map(([mark, lines, rest]) => `${mark}${lines.join('')}${rest}`);
const places = fc.array(fc.nat(), { maxLength: 30 });

describe('makeEventParser()', () => {
  test('gives what the whole text says, wherever the bytes are cut', () => {
    fc.assert(
      fc.property(stream, places, (text, cuts) => {
        // A text that ends in CR could still become CRLF; both readings end the line.
        expect(parse(...cut(toUtf8(text), cuts))).toEqual(readWhole(text));
      }),
      { numRuns: volume(1_000, 30) },
    );
  });

  test('gives the same for every byte on its own as for all at once', () => {
    const bytes = toUtf8(
      '\uFEFF: hello\r\nid: 7\r\nevent: out\r\ndata: a🙂\r\ndata: b\r\n\r\ndata:c\r\rdata\n\n',
    );
    const all = [
      { event: 'out', id: '7', data: 'a🙂\nb' },
      { event: 'message', id: '7', data: 'c' },
      { event: 'message', id: '7', data: '' },
    ];
    expect(parse(bytes)).toEqual(all);
    expect(parse(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(all);
  });

  test('gives no event before its empty line, and none for a stream that breaks off', () => {
    expect(parse('event: ended\ndata: {"a":1}\n')).toEqual([]);
    expect(parse('event: ended\ndata: {"a":1}\n', '\n')).toHaveLength(1);
  });

  test('gives any bytes without throwing', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (pieces) => {
        for (const event of parse(...pieces)) expect(event.data).toBeTypeOf('string');
      }),
    );
  });

  test.each([
    ['one line without an end', ['data: ', ...Array.from({ length: 10 }, () => 'x'.repeat(100))]],
    ['many lines of one event', Array.from({ length: 200 }, () => 'data: xxxx\n')],
    ['a comment without an end', [':', ...Array.from({ length: 10 }, () => 'x'.repeat(101))]],
    ['one piece', [`data: ${'x'.repeat(2_000)}\n\n`]],
  ])('refuses an event that is too long: %s', (_, pieces) => {
    const parser = makeEventParser(1_000);
    expect(() => pieces.forEach((piece) => void parser.push(toUtf8(piece)))).toThrow(MalformedEvents);
  });

  test('goes on for ever with events that are not too long', () => {
    const parser = makeEventParser(40);
    const events = Array.from({ length: 500 }, () =>
      parser.push(toUtf8(': beat\n\ndata: 0123456789\n\n')),
    ).flat();
    expect(events).toHaveLength(500);
  });
});

describe('eventsOf()', () => {
  test('lets go of its source when its reader stops early', async () => {
    let isLetGo = false;
    async function* endless() {
      try {
        for (;;) yield toUtf8('data: 1\n\n');
      } finally {
        isLetGo = true;
      }
    }
    for await (const { data } of eventsOf(endless())) {
      expect(data).toBe('1');
      break;
    }
    expect(isLetGo).toBe(true);
  });
});
