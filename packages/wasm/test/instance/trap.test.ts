import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import { TRAPS } from '../../src/instance/trap.table.ts';
import { classifyTrap } from '../../src/instance/trap.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

const engine = createEngine();

describe('the table of traps', () => {
  it.each(TRAPS)('has for $trap the probe that its text says', ({ text, probe }) => {
    const header = '0061736d01000000';
    expect(header + probe).toBe(Buffer.from(wat(`(module ${text})`)).toString('hex'));
  });

  it('has no two kinds with the same message in V8', () => {
    const codes = new Map<string, Set<string>>();
    for (const { probe, code } of TRAPS) {
      const bytes = Buffer.from(`0061736d01000000${probe}`, 'hex');
      const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
      const said = String(thrownBy(f as () => void));
      codes.set(said, (codes.get(said) ?? new Set()).add(code));
    }
    expect([...codes.values()].map((kinds) => kinds.size)).toEqual(Array.from(codes, () => 1));
  });

  it.each(TRAPS)('names $trap, also when it happens in a metered guest', async ({ text, code }) => {
    const instance = engine.instantiate(await engine.compile(wat(`(module ${text})`)));
    const error = refused(() => instance.call('f'));
    expect(error.code).toBe(code);
    expect(error.cause).toBeInstanceOf(WebAssembly.RuntimeError);
    expect(error.usage).toBeDefined();
    instance.release();
  });
});

describe('classifyTrap()', () => {
  it('classifies a trap that no probe shows as trap, whatever its message', () => {
    expect(classifyTrap(new WebAssembly.RuntimeError('fuel'))).toBe('trap');
  });

  it('does not classify other errors as traps, even with the same message', () => {
    const { message } = thrownBy(() => {
      const { f } = new WebAssembly.Instance(
        new WebAssembly.Module(wat('(module (func (export "f") unreachable))')),
      ).exports;
      (f as () => void)();
    });
    expect(classifyTrap(new WebAssembly.RuntimeError(message))).toBe('unreachable');
    expect(classifyTrap(new Error(message))).toBeUndefined();
    expect(classifyTrap(message)).toBeUndefined();
  });

  it('does not fail on values that throw when they are read', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(classifyTrap(proxy)).toBeUndefined();
  });

  it('classifies an exhausted machine stack as stack', () => {
    const endless = new WebAssembly.Instance(
      new WebAssembly.Module(
        wat('(module (func $f (export "f") (result i32) (i32.add (i32.const 1) (call $f))))'),
      ),
    );
    expect(classifyTrap(thrownBy(endless.exports.f as () => void))).toBe('stack');
  });
});

function thrownBy(act: () => void): Error {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('It went through, expected an error');
}
