import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import { type HostFunction, hostTable } from '../../src/instance/host.ts';
import { wat } from '../fixture/wat.ts';

const engine = createEngine();

describe('a host function', () => {
  it.each([0, 2, 6])(
    'with %i parameters has no `this` that would show more than the guest',
    async (count) => {
      const seen: unknown[] = [];
      const look = function (this: unknown) {
        seen.push(this);
        return undefined;
      };
      const params = Array.from({ length: count }, () => 'i32' as const);
      const hosts = hostTable([
        { module: 'host', name: 'look', params, results: [], fuel: 1, run: look } satisfies HostFunction,
      ]);
      const guest = wat(`(module (import "host" "look" (func $look (param ${params.join(' ')})))
      (func (export "run") ${'(i32.const 1)'.repeat(count)} (call $look)))`);
      const instance = engine.instantiate(await engine.compile(guest, { hosts }), { hosts });
      instance.call('run');
      expect(seen).toEqual([undefined]);
      instance.release();
    },
  );
});
