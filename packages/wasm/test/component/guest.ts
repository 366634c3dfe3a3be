import { LiftLowerContext } from '../../src/component/canonical/lift-lower-context.ts';
import type { CallOptions } from '../../src/instance/call.ts';
import { createEngine } from '../../src/instance/engine.ts';
import { type Guest, GuestView } from '../../src/instance/guest.ts';
import { type HostFunction, hostTable } from '../../src/instance/host.ts';
import type { Pool } from '../../src/instance/pool.ts';
import { wat } from '../fixture/wat.ts';

/** Room from 4,096 on, never given back; the memory grows by a page whenever it does not reach. */
export const REALLOC = `(memory (export "memory") 1 64)
  (global $top (mut i32) (i32.const 4096))
  (func $realloc (export "realloc") (param i32 i32) (param $align i32) (param $size i32) (result i32) (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.sub (local.get $align) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get $align))))
    (global.set $top (i32.add (local.get $at) (local.get $size)))
    (loop $more
      (if (i32.gt_u (global.get $top) (i32.mul (memory.size) (i32.const 65536)))
        (then (drop (memory.grow (i32.const 1))) (br $more))))
    (local.get $at))`;

/** A pool of a module with these parts. */
export async function poolOf(parts: string, rows: readonly HostFunction[] = []): Promise<Pool> {
  const hosts = hostTable(rows);
  const engine = createEngine({ limits: { fuel: 1_000_000_000 } });
  return engine.pool(await engine.compile(wat(`(module ${parts})`), { hosts }), { size: 1, hosts });
}

/** Lets `use` pass values to and from a new guest. */
export function withContext<T>(
  pool: Pool,
  use: (context: LiftLowerContext, guest: Guest) => T,
  options: CallOptions = {},
) {
  return pool.visit(options, (guest) => use(new LiftLowerContext(GuestView.stateOf(guest)), guest));
}
