import { readFileSync } from 'node:fs';
import { callLifted } from '../../src/component/canonical/call-lifted.ts';
import { loweredHost, type WorldHost } from '../../src/component/canonical/lowered-host.ts';
import { linkComponent } from '../../src/component/link-component.ts';
import type { WitFunction, World } from '../../src/component/types.ts';
import { createEngine } from '../../src/instance/engine.ts';
import { hostTable } from '../../src/instance/host.ts';

const NAMES = ['shim', 'reallocs', 'nested', 'resources'] as const;
export type Fixture = (typeof NAMES)[number];
export const FIXTURES: readonly Fixture[] = NAMES;

/** A component of `fixtures/`, which is made of the text beside it. */
export function fixture(name: Fixture): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(new URL(`./fixtures/${name}.wasm`, import.meta.url)));
}

export type Exports = Readonly<Record<string, WitFunction>>;

/** A world of these functions and nothing else. */
export function worldOf(
  rows: readonly Pick<WorldHost, 'module' | 'name' | 'type'>[],
  exports: Exports,
): World {
  const interfaces = new Set(rows.map(({ module }) => module));
  return {
    knows: (name) => interfaces.has(name),
    find: (module, name) => rows.find((row) => row.module === module && row.name === name) ?? null,
    exports,
  };
}

/** A function of the host that costs nothing. */
export function host(
  module: string,
  name: string,
  type: WitFunction,
  run: (...values: unknown[]) => unknown,
): WorldHost {
  return { module, name, type, fuel: 0, run: (_guest, ...values) => run(...values) };
}

/** Links a component, meters and instantiates what comes out, and calls an export of it once. */
export async function callOnce(
  bytes: Uint8Array,
  rows: readonly WorldHost[],
  exports: Exports,
  call: { readonly name: string; readonly args: readonly unknown[] },
): Promise<unknown> {
  const linked = linkComponent(bytes, worldOf(rows, exports));
  const engine = createEngine();
  const hosts = hostTable(rows.map(loweredHost));
  const pool = engine.pool(await engine.compile(linked.bytes, { hosts }), { size: 1, hosts });
  const type = linked.exports.find(({ name }) => name === call.name)?.type;
  if (type === undefined) throw new Error(`no export ${call.name}`);
  return pool.visit({}, (guest) => callLifted(guest, { name: call.name, type }, call.args)).value;
}
