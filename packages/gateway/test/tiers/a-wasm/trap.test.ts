import { describe, expect, it } from 'vitest';
import { trapOf } from '../../../src/tiers/a-wasm/trap.ts';
import { wat } from '../../fixture/wat.ts';

const PLAIN = wat('(module (func $part (unreachable)) (func (export "f") (call $part)))');
/** A custom section `.debug_line` without content. */
const DEBUG = new Uint8Array([...PLAIN, 0, 12, 11, ...Buffer.from('.debug_line')]);
const TRAP = { frames: [0, 1], places: [40, 50] };

/** An engine that answers with these lines, and counts how often it is asked. */
function engineWith(lines: Awaited<ReturnType<Parameters<typeof trapOf>[0]['locate']>>) {
  const engine = { asked: 0, locate: async () => lines, end: () => undefined };
  const locate = engine.locate;
  engine.locate = () => {
    engine.asked += 1;
    return locate();
  };
  return engine;
}

describe('trapOf()', () => {
  it('asks no engine for lines where the module has none, or is larger than anyone waits for', async () => {
    const engine = engineWith([{ file: 'a.c', line: 1 }, null]);
    const large = new Uint8Array(9 * 1024 * 1024);
    large.set(DEBUG);
    for (const bytes of [PLAIN, large]) {
      const frames = await trapOf(engine, TRAP, { bytes, memoryBytes: 65_536 });
      expect(frames.map(({ source }) => source)).toEqual([undefined, undefined]);
    }
    expect(await trapOf(engine, {}, { bytes: DEBUG, memoryBytes: 65_536 })).toEqual([]);
    expect(engine.asked).toBe(0);
  });

  it('adds the lines that the engine finds to the functions', async () => {
    const engine = engineWith([{ file: 'src/a.c', line: 7 }, null]);
    const [first, second] = await trapOf(engine, TRAP, { bytes: DEBUG, memoryBytes: 65_536 });
    expect(first).toMatchObject({ function: 0, source: 'src/a.c:7' });
    expect(second).not.toHaveProperty('source');
  });

  it('has the functions alone where the engine is gone meanwhile', async () => {
    const frames = await trapOf(engineWith(null), TRAP, { bytes: DEBUG, memoryBytes: 65_536 });
    expect(frames.map((frame) => frame.function)).toEqual([0, 1]);
  });
});
