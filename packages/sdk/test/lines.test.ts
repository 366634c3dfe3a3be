import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linesOf, MalformedLine, toUtf8 } from '../src/index.ts';

async function collect(chunks: Iterable<Uint8Array>): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(chunks)) lines.push(line);
  return lines;
}

describe('linesOf()', () => {
  test('gives the same lines however the bytes are cut', async () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', '')));
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (lines, step) => {
        const bytes = toUtf8(lines.map((line) => `${line}\n`).join(''));
        const chunks: Uint8Array[] = [];
        for (let at = 0; at < bytes.length; at += step) chunks.push(bytes.subarray(at, at + step));
        expect(await collect(chunks)).toEqual(lines);
      }),
    );
  });

  test('copies what it keeps, so that a reader may use its buffer again', async () => {
    const buffer = toUtf8('ab');
    async function* reuse() {
      yield buffer;
      buffer.set(toUtf8('c\n'));
      yield buffer;
    }
    const lines: string[] = [];
    for await (const line of linesOf(reuse())) lines.push(line);
    expect(lines).toEqual(['abc']);
  });

  test.each([
    ['a missing final line feed', 'a\nb', 2, 'does not end with a line feed'],
    ['bytes that are not UTF-8', Uint8Array.of(0x61, 0x0a, 0xff, 0x0a), 2, 'not valid UTF-8'],
    ['a line over 1 MiB', `a\nb\n${'x'.repeat(1024 * 1024 + 1)}\n`, 3, 'more than 1048576 bytes'],
    ['a line over 1 MiB without an end', 'x'.repeat(1024 * 1024 + 1), 1, 'more than 1048576 bytes'],
  ])('refuses %s and says in which line', async (_, content, line, message) => {
    const bytes = typeof content === 'string' ? toUtf8(content) : content;
    const error: unknown = await collect([bytes]).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MalformedLine);
    expect(error).toMatchObject({ line, message: expect.stringContaining(message) });
  });

  test('accepts a line of exactly 1 MiB and gives nothing for no bytes', async () => {
    expect(await collect([toUtf8(`${'x'.repeat(1024 * 1024)}\n`)])).toHaveLength(1);
    expect(await collect([])).toEqual([]);
  });
});
