/** The functions of the world, as an engine gives them to a linked component. */
import { type Guest, type HostFunction, type HostTable, hostTable, loweredHost } from '@palisade/wasm';
import { ABI_FUNCTIONS, type AbiName } from '../abi.table.ts';
import type { WorldRow } from '../world/world.table.ts';
import { moduleOf, WORLD_FUNCTIONS } from '../world/world.ts';
import type { CallContext } from './call-context.ts';
import type { Channel } from './channel.ts';
import { WASI_ACTS } from './wasi-acts.ts';
import { type Act, type Crossing, SKILL_ACTS } from './world-acts.ts';

/** Of functions that are those of no row of the ABI. */
const LOCAL_FUEL = 20;

type LiftedRun = (crossing: Crossing, ...values: unknown[]) => unknown;

/** The table of what a call was granted; a function that was not is not in it. */
export function worldHosts(functions: readonly AbiName[], channel: Channel): HostTable {
  const granted = WORLD_FUNCTIONS.filter(({ does }) => does === null || functions.includes(does));
  return hostTable(granted.map((row) => hostOf(row, channel)));
}

function hostOf(row: WorldRow, channel: Channel): HostFunction {
  const same = ABI_FUNCTIONS.find(({ name }) => name === row.does);
  const run = actOf(row) as LiftedRun;
  return loweredHost({
    module: moduleOf(row),
    name: row.name,
    type: row.type,
    fuel: same?.fuel ?? LOCAL_FUEL,
    blocks: same?.asksGateway ?? false,
    run: (guest: Guest, ...values: unknown[]) =>
      run({ guest, context: guest.context as CallContext, channel }, ...values),
  });
}

function actOf({ interface: place, name }: WorldRow): Act {
  const key = `${place}.${name}`;
  const act = SKILL_ACTS[key] ?? WASI_ACTS[key];
  if (act === undefined) throw new TypeError(`Cannot give ${key}: nobody does it`);
  return act;
}
