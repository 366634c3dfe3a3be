import { type Facts, isComponent, type LinkedComponent, WasmError } from '@palisade/wasm';
import { CodedError } from '../../../core/coded-error.ts';
import type { WasmGrants } from '../../../core/wasm.ts';
import { shorten } from '../../../skills/audit/module/words.ts';
import { CAPABILITIES, capabilitiesOf } from '../../../skills/capabilities/kinds.ts';
import {
  ABI_ALLOC,
  ABI_FUNCTIONS,
  ABI_MODULE,
  type AbiFunction,
} from '../../../tiers/a-wasm/engine/abi.table.ts';
import { linkToWorld, needOf, worldRow } from '../../../tiers/a-wasm/engine/world.ts';
import { wrongUsage } from '../input.ts';
import { codedOf } from './file.ts';

/** Whether a module follows the ABI, as far as it shows before it runs, and which grants it lacks. */

const TOOL_TYPE = '(i32, i32) -> i64';
const ALLOC_TYPE = '(i32) -> i32';
const MOST_SHOWN = 10;
const READ_ABI = 'Build it for the ABI of docs/abi.md.';

/** The name of the tool to run, which must be an export of the right type. */
export function requireTool({ exports }: Facts, name: string | undefined): string {
  const tools = exports.filter(({ kind, type }) => kind === 'function' && type === TOOL_TYPE);
  const shown = tools.slice(0, MOST_SHOWN).map((each) => shorten(each.name));
  const expected = tools.length === 0 ? `an export of type ${TOOL_TYPE}` : `one of: ${shown.join(', ')}`;
  if (name === undefined) throw wrongUsage(`Cannot choose a tool: --tool is missing, expected ${expected}`);
  if (tools.some((each) => each.name === name)) return name;
  const other = exports.find((each) => each.name === name);
  const is = other === undefined ? 'no such export' : `it is ${shorten(other.type)}`;
  throw wrongUsage(`Cannot run the tool "${name}": ${is}, expected ${expected}`);
}

/** Refuses a module that cannot take its input, or that imports what does not exist or is not granted. */
export function requireAbi(facts: Facts, grants: WasmGrants): void {
  const alloc = facts.exports.find(({ name, kind }) => kind === 'function' && name === ABI_ALLOC);
  if (alloc?.type !== ALLOC_TYPE) {
    const is = alloc === undefined ? `it does not export ${ABI_ALLOC}` : `its ${ABI_ALLOC} is ${alloc.type}`;
    throw unlinked(`${is}, expected a function of type ${ALLOC_TYPE}`, ABI_ALLOC, READ_ABI);
  }
  if (facts.counts.memories === 0)
    throw unlinked('it has no memory, expected one exported as "memory"', 'memory', READ_ABI);
  const granted = new Set(capabilitiesOf(grants));
  // An imported memory is created by the engine, within the limits.
  for (const each of facts.imports) if (each.kind !== 'memory') requireImport(each, granted);
}

function requireImport(
  { module, name, kind, type }: Facts['imports'][number],
  granted: ReadonlySet<string>,
): void {
  const what = `${shorten(module)}.${shorten(name)}`;
  const row: AbiFunction | undefined = ABI_FUNCTIONS.find((each) => each.name === name);
  if (module !== ABI_MODULE || kind !== 'function' || row === undefined)
    throw unlinked(`it imports ${what}, expected functions of ${ABI_MODULE}`, what, READ_ABI);
  const expected = `(${row.params.map(([, each]) => each).join(', ')}) -> ${row.result ?? '()'}`;
  if (type !== expected)
    throw unlinked(`it imports ${what} as ${shorten(type)}, expected ${expected}`, what, READ_ABI);
  const { needs } = row;
  if (needs === null || granted.has(needs)) return;
  const { form } = CAPABILITIES[needs];
  const remedy = `Grant it with --grant ${form}, or build the module without it.`;
  throw unlinked(`it imports ${what}, which was not granted, expected --grant ${form}`, what, remedy);
}

function unlinked(why: string, detail: string, remedy: string): CodedError {
  const error = new WasmError('link', `Cannot run the module: ${why}`, { detail });
  const { code, message } = codedOf(error);
  return new CodedError(code, message, { remedy, cause: error });
}

/** Components on the command line: each is linked into one core module, and knows its tools by name. */

const READ_WORLD = 'Build it for the world of docs/components.md.';

/** The one module that a component is linked into; null where the bytes are not a component. */
export function linkedModule(bytes: Uint8Array): Uint8Array | null {
  return isComponent(bytes) ? linked(bytes).bytes : null;
}

function linked(bytes: Uint8Array): LinkedComponent {
  try {
    return linkToWorld(bytes);
  } catch (error) {
    if (!(error instanceof WasmError) || error.code !== 'link') throw error;
    throw new CodedError('wasm/link', error.message, { remedy: READ_WORLD, cause: error });
  }
}

/**
 * The tool to call; only the component itself knows which ones it has. Refuses a component that is not of the world, or
 * that imports what is not granted.
 */
export function requireWorld(bytes: Uint8Array, tool: string | undefined, grants: WasmGrants): string {
  if (!tool)
    throw wrongUsage('Cannot choose a tool: --tool is missing, expected the name of a tool of the component');
  const granted = new Set(capabilitiesOf(grants));
  for (const { module, name } of linked(bytes).imports) {
    const row = worldRow({ module, name });
    const need = row === undefined ? null : needOf(row);
    if (need === null || granted.has(need)) continue;
    const { form } = CAPABILITIES[need];
    const is = `it imports ${shorten(module)}.${shorten(name)}, which was not granted`;
    const remedy = `Grant it with --grant ${form}, or build the component without it.`;
    const message = `Cannot run the component: ${is}, expected --grant ${form}`;
    throw new CodedError('wasm/link', message, { remedy });
  }
  return tool;
}
