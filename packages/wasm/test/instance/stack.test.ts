import { describe, expect, it } from 'vitest';
import { WasmError } from '../../src/error.ts';
import type { CallOptions } from '../../src/instance/call.ts';
import { createEngine } from '../../src/instance/engine.ts';
import { hostFunction, hostTable } from '../../src/instance/host.ts';
import { CEILINGS } from '../../src/limits.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

/** `dive` goes so many calls down and calls the host there, `fall` goes down for ever. */
const DIVING = wat(`(module
  (import "host" "bottom" (func $bottom))
  (func $dive (export "dive") (param i32)
    (if (local.get 0)
      (then (call $dive (i32.sub (local.get 0) (i32.const 1))))
      (else (call $bottom))))
  (func $fall (export "fall") (result i32) (i32.add (i32.const 1) (call $fall))))`);

const KIB = 1024;
/** Nearly what the default of 512 KiB holds. */
const DEEP = 3000;

type Divers = {
  dive(depth: number, options?: CallOptions): unknown;
  /** How far a call falls here that asks for no number, counted in the fuel that it takes. */
  fall(): number;
};

/** Guests inside each other: at the bottom of each, `atBottom` decides about the next. */
async function divers(atBottom: (inner: Divers, level: number) => void, limits = {}): Promise<Divers> {
  const engine = createEngine({ limits });
  let level = 0;
  const bottom = () => {
    level += 1;
    try {
      atBottom(all, level);
    } finally {
      level -= 1;
    }
    return undefined;
  };
  const hosts = hostTable([
    hostFunction({ module: 'host', name: 'bottom', params: [], results: [], fuel: 1, run: bottom }),
  ]);
  const pool = engine.pool(await engine.compile(DIVING, { hosts }), { size: 20, hosts });
  const all: Divers = {
    dive: (depth, options) => pool.run('dive', [depth], options),
    fall() {
      const error = refused(() => pool.run('fall'));
      expect(error.code).toBe('stack');
      return error.usage?.fuelUsed ?? 0;
    },
  };
  return all;
}

/** What ended the innermost of calls that ended each other. */
function rootOf(error: WasmError): WasmError {
  return error.code === 'host' && error.cause instanceof WasmError ? rootOf(error.cause) : error;
}

describe('calls inside each other', () => {
  it('end by the count, never where the stack of the machine ends, however deep each of them goes', async () => {
    const levels: number[] = [];
    const { dive } = await divers((inner, level) => {
      levels.push(level);
      inner.dive(DEEP);
    });
    const ends = [1, 2, 3].map(() => rootOf(refused(() => dive(DEEP))));
    expect(ends.map(({ code }) => code)).toEqual(['stack', 'stack', 'stack']);
    expect(ends.map(({ cause }) => cause instanceof WebAssembly.RuntimeError)).toEqual([true, true, true]);
    expect(levels).toEqual([1, 1, 1]);
  });

  it('have half of what is left each, and when they have ended it is there again', async () => {
    const falls: number[] = [];
    const { dive, fall } = await divers((inner, level) => {
      falls.push(inner.fall());
      if (level < 4) inner.dive(1);
    });
    const outermost = fall();
    dive(1);
    const [first = 0, ...others] = falls;
    expect(first).toBeLessThan(outermost / 2);
    const ratios = others.map((each, index) => each / (falls[index] ?? 0));
    expect(ratios.map((ratio) => ratio > 0.4 && ratio < 0.6)).toEqual([true, true, true]);
    expect(fall()).toBe(outermost);
  });

  it('end as stack when they nest without end', async () => {
    let deepest = 0;
    const { dive } = await divers((inner, level) => {
      deepest = Math.max(deepest, level);
      inner.dive(1);
    });
    expect(rootOf(refused(() => dive(1))).code).toBe('stack');
    expect(deepest).toBeGreaterThan(4);
  });

  it.each([
    ['within what the default leaves', undefined, 200 * KIB, 'well'],
    ['beyond what the default leaves', undefined, 300 * KIB, 'stack'],
    ['within what a call leaves that asked for little', 100 * KIB, 512 * KIB, 'well'],
    ['beyond what a call leaves that asked for all', CEILINGS.stackBytes, 1, 'stack'],
  ])('that ask for stack %s (%s, then %s) end %s', async (_what, outer, wanted, expected) => {
    const ends: unknown[] = [];
    const { dive } = await divers(
      (inner, level) => {
        if (level > 1) return;
        try {
          inner.dive(1, { stackBytes: wanted });
          ends.push('well');
        } catch (error) {
          // Nothing has run: there is no usage.
          if (error instanceof WasmError && error.usage === undefined) ends.push(error.code);
        }
      },
      outer === undefined ? {} : { stackBytes: CEILINGS.stackBytes },
    );
    dive(1, outer === undefined ? {} : { stackBytes: outer });
    expect(ends).toEqual([expected]);
  });

  it('are refused when they ask for nothing and nothing is left', async () => {
    const errors: WasmError[] = [];
    const { dive } = await divers((inner) => void errors.push(refused(() => inner.dive(1))), {
      stackBytes: CEILINGS.stackBytes,
    });
    dive(1);
    expect(errors.map(({ code, detail }) => [code, detail])).toEqual([['stack', 'nested']]);
  });
});
