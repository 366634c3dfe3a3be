import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newCallContext } from '../../../../src/tiers/a-wasm/engine/handlers.ts';
import { PrintedLines } from '../../../../src/tiers/a-wasm/engine/wasi-handlers.ts';
import { sampleHead } from '../sample-engine.ts';
import { Gateway } from './component-call.ts';

/** The lines that come of such pieces. */
function linesOf(pieces: readonly string[]): readonly string[] {
  const gateway = new Gateway();
  const limits = { fuel: 1, memoryBytes: 1, outputBytes: 1, logBytes: 1_000_000 };
  const printed = new PrintedLines(newCallContext(sampleHead({ limits }), gateway.pipe), 1);
  for (const piece of pieces) printed.add(Buffer.from(piece));
  printed.end();
  return gateway.lines.map(([, text]) => text);
}

describe('PrintedLines', () => {
  it('gives the same lines however what is printed was cut to pieces', () => {
    const piece = fc
      .array(fc.constantFrom('a', 'b', '\n', 'long '.repeat(400)))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const whole = pieces.join('');
        const lines = whole.split('\n').flatMap((line) => line.match(/.{1,8192}/g) ?? ['']);
        // What follows the last new line is a line only where there is something of it.
        const expected = whole === '' || whole.endsWith('\n') ? lines.slice(0, -1) : lines;
        expect(linesOf(pieces)).toEqual(expected);
      }),
    );
  });

  it('keeps no more than a line of what it waits with', () => {
    expect(linesOf(Array.from({ length: 9_000 }, () => 'x')).map((line) => line.length)).toEqual([
      8_192, 808,
    ]);
  });
});
