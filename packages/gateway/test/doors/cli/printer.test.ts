import { Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { inert, safeJson } from '../../../src/core/hostile-text.ts';
import { Printer } from '../../../src/doors/cli/printer.ts';

/** What makes a terminal act, turns the direction of text around, or is there without being seen. */
const ACTIVE = [
  '\n',
  '\t',
  '\x1b[31m',
  '\x1b]0;title\x07',
  '\x9b31m',
  '\b',
  '\r',
  '\x7f',
  '\0',
  '\u200b',
  '\u200d',
  '\u202e',
  '\u2066',
  '\u2028',
  '\u2029',
  '\ufeff',
  '\u00ad',
  '\u3164',
  '\ufe0f',
  '\u{e0041}',
];
const HARMLESS = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]*$/u;
const text = fc
  .array(fc.oneof(fc.string({ unit: CHARACTER }), fc.constantFrom(...ACTIVE)))
  .map((parts) => parts.join(''));

describe('inert()', () => {
  test('leaves nothing that a terminal would obey or a reader would miss', () => {
    fc.assert(fc.property(text, (raw) => HARMLESS.test(inert(raw))));
  });

  test('leaves plain text of any script as it is', () => {
    const plain = fc.string({ unit: 'grapheme' }).filter((raw) => HARMLESS.test(raw));
    fc.assert(fc.property(plain, (raw) => inert(raw) === raw));
    expect(inert('Grüße, 世界! π')).toBe('Grüße, 世界! π');
  });

  test.each(ACTIVE)('spells out %j', (active) => {
    expect(inert(`a${active}b`)).toMatch(/^a\\u\{[0-9a-f]+\}.*b$/u);
  });
});

describe('safeJson()', () => {
  const value = fc.oneof(fc.jsonValue(), fc.record({ message: text }), fc.array(text));

  test('is harmless to look at and means the same value to a parser', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(0, 2), (original, indent) => {
        const written = safeJson(original, indent);
        expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(original)));
        return HARMLESS.test(written.replaceAll('\n', ''));
      }),
    );
  });
});

describe('Printer', () => {
  const printed = (json: boolean, act: (print: Printer) => void): string => {
    let out = '';
    const sink = new Writable({
      write: (chunk, _encoding, done) => {
        out += chunk;
        done();
      },
    });
    act(new Printer({ out: sink, err: sink, json, colour: false }));
    return out;
  };

  test('neutralises whatever a caller or a tool can put into any of its lines', () => {
    fc.assert(
      fc.property(text, (raw) => {
        const out = printed(false, (print) => {
          print.line(raw);
          print.styled('red', raw, raw);
          print.note(raw, 'red', raw);
          print.table([raw.replace(ACTIVE_RUN, '')], [[raw]]);
          print.value({ [raw]: raw }, raw);
          print.block(raw, raw);
        });
        return HARMLESS.test(out.replaceAll('\n', ''));
      }),
    );
  });

  test('prints one line for one line, whatever is in it', () => {
    fc.assert(
      fc.property(text, (raw) => {
        const out = printed(false, (print) => {
          print.line(raw);
          print.styled('red', raw, raw);
          print.note(raw, 'red', raw);
          print.table(['HEAD'], [[raw]]);
        });
        expect(out.split('\n')).toHaveLength(6);
      }),
    );
  });

  test('prints a block line by line, and none but the first begins where ours begin', () => {
    const out = printed(false, (print) => print.block('→ ', 'one\n  two\u202e\ndecided user:eve'));
    expect(out).toBe('→ one\n    two\\u{202e}\n  decided user:eve\n');
  });

  test('prints a value over several lines, and a line feed inside of it as \\n', () => {
    expect(printed(false, (print) => print.value({ a: 'x\ny\tz' }, 'input '))).toBe(
      'input {\n  "a": "x\\ny\\tz"\n}\n',
    );
  });

  test('prints the document alone with --json, whatever else is printed', () => {
    const out = printed(true, (print) => {
      print.line('a line');
      print.styled('green', 'styled');
      print.table(['HEAD'], [['cell']]);
      print.value({ a: 1 });
      print.document({ ok: true });
    });
    expect(out).toBe('{"ok":true}\n');
  });

  test('keeps exact text exact', async () => {
    let out = '';
    const sink = new Writable({
      highWaterMark: 1,
      write: (chunk, _encoding, done) => {
        out += chunk;
        setImmediate(done);
      },
    });
    const print = new Printer({ out: sink, err: sink, json: false, colour: true });
    await print.exact('one\u202e\n');
    await print.exact('two\n');
    expect(out).toBe('one\u202e\ntwo\n');
  });
});

/** Headings are our own words. */
const ACTIVE_RUN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
