/** The functions of the world, as an engine provides them to a linked component. */
import { type Guest, type HostFunction, type HostTable, hostTable, loweredHost } from '@palisade/wasm';
import {
  ABI_ERRORS,
  ABI_FUNCTIONS,
  type AbiFunction,
  type AbiName,
  type ComponentForm,
} from './abi.table.ts';
import {
  type CallContext,
  type ComponentHandler,
  type Crossing,
  ENGINE_HANDLERS,
  failedWith,
  ok,
  requestGateway,
} from './handlers.ts';
import { WASI_HANDLERS } from './wasi-handlers.ts';
import type { WorldRow } from './wit.ts';
import { isSkillRow, moduleOf, WORLD_FUNCTIONS } from './world.ts';

/** For functions that are not those of a row of the ABI. */
const LOCAL_FUEL = 20;
const NO_BYTES = new Uint8Array(0);

/** The table of the functions that were granted to a call. */
export function worldHosts(functions: readonly AbiName[]): HostTable {
  const granted = WORLD_FUNCTIONS.filter(({ abi }) => abi === null || functions.includes(abi));
  return hostTable(granted.map(hostFunctionOf));
}

function hostFunctionOf(row: WorldRow): HostFunction {
  const abi = ABI_FUNCTIONS.find(({ name }) => name === row.abi);
  const handle = (isSkillRow(row) ? skillHandler(abi) : WASI_HANDLERS[`${row.interface}.${row.name}`]) as
    | ((crossing: Crossing, ...values: unknown[]) => unknown)
    | undefined;
  if (handle === undefined)
    throw new TypeError(`Cannot give ${row.interface}.${row.name}: it has no handler`);
  return loweredHost({
    module: moduleOf(row),
    name: row.name,
    type: row.type,
    fuel: abi?.fuel ?? LOCAL_FUEL,
    blocks: abi?.handledBy === 'gateway',
    run: (guest: Guest, ...values: unknown[]) =>
      handle({ guest, context: guest.context as CallContext }, ...values),
  });
}

function skillHandler(row: (typeof ABI_FUNCTIONS)[number] | undefined): ComponentHandler | undefined {
  if (row === undefined) return undefined;
  if (row.handledBy === 'engine') return ENGINE_HANDLERS[row.name].component;
  return requesting(row.name, (row as AbiFunction).component ?? undefined);
}

/** Sends a typed request to the gateway in the core form; an answer that is not an error becomes an `ok`. */
function requesting(name: AbiName, form: ComponentForm | undefined): ComponentHandler | undefined {
  const { request, answer = () => null } = form ?? {};
  if (request === undefined) return undefined;
  return (crossing, ...values) => {
    const parts = request(...values);
    if (parts === null) return failedWith(ABI_ERRORS.invalid.code);
    const { result, bytes } = requestGateway(crossing, name, parts);
    crossing.context.result = NO_BYTES;
    return result < 0 ? failedWith(result) : ok(answer(bytes));
  };
}
