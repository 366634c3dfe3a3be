/**
 * The world of components: what they may import, by interface and function, and what they export. A component imports
 * with a version; any WASI 0.2.x is treated alike, so the imports of the linked module name none.
 */
import {
  CEILINGS,
  type LinkedComponent,
  linkComponent,
  WasmError,
  type World,
  type WorldImport,
} from '@palisade/wasm';
import { isCapabilityKind } from '../../../core/wasm.ts';
import { ABI_FUNCTIONS, type AbiFunction, type AbiName, type GrantNeed } from './abi.table.ts';
import { FILE_FUNCTIONS, NO_DIRECTORIES, REMEDIES, WASI_FUNCTIONS } from './wasi.table.ts';
import { func, record, result, type WorldRow } from './wit.ts';

const SKILL_PACKAGE = 'palisade:skill';
const SKILL_VERSION = '1.0.0';

/** What a component exports: JSON in, JSON out. */
export const RUN_NAME = 'run';
export const RUN_TYPE = func(
  { tool: 'string', input: 'string' },
  result('string', record({ code: 'string', message: 'string' })),
);

/** Interfaces of the package that only define types. */
export const TYPE_INTERFACES: readonly string[] = [`${SKILL_PACKAGE}/types`];

/** The interfaces of the world `skill`, function for function as packages/guest/wit has them. */
export const SKILL_FUNCTIONS: readonly WorldRow[] = ABI_FUNCTIONS.flatMap(
  ({ name: abi, component }: AbiFunction & { readonly name: AbiName }) => {
    if (component === null) return [];
    const [part = '', name = ''] = component.name.split('.');
    return [{ interface: `${SKILL_PACKAGE}/${part}`, name, type: component.type, abi }];
  },
);

export const WORLD_FUNCTIONS: readonly WorldRow[] = [
  ...SKILL_FUNCTIONS,
  ...WASI_FUNCTIONS,
  NO_DIRECTORIES,
  ...FILE_FUNCTIONS,
];

const INTERFACES: ReadonlySet<string> = new Set([
  ...TYPE_INTERFACES,
  ...WORLD_FUNCTIONS.map((row) => row.interface),
]);
const ROWS: ReadonlyMap<string, WorldRow> = new Map(
  WORLD_FUNCTIONS.map((row) => [keyOf(row.interface, row.name), row]),
);
const ASKED = /^([a-z0-9-]+:[a-z0-9-]+)\/([a-z0-9-]+)@(\d+\.\d+\.\d+)$/;
const WASI_VERSION = /^0\.2\.\d{1,6}$/;

export function worldOf(): World {
  return {
    knows: (interfaceName) => knownInterface(interfaceName) !== null,
    find: (interfaceName, functionName) => {
      const found = knownInterface(interfaceName);
      const row = found === null ? undefined : ROWS.get(keyOf(found, functionName));
      return row === undefined ? null : { module: moduleOf(row), name: row.name, type: row.type };
    },
    exports: { [RUN_NAME]: RUN_TYPE },
  };
}

/** Links a component that keeps to the world into one core module; the refusal of any other includes a remedy. */
export function linkToWorld(bytes: Uint8Array): LinkedComponent {
  try {
    // Whether its memory fits is checked against the limits of the call, when the linked module is compiled.
    return linkComponent(bytes, worldOf(), { memoryBytes: CEILINGS.memoryBytes });
  } catch (error) {
    if (!(error instanceof WasmError) || error.code !== 'link') throw error;
    throw withRemedy(error);
  }
}

/** The row behind an import of a linked module; undefined where it is not one of this world. */
export function worldRow({ module, name }: ImportName): WorldRow | undefined {
  return ROWS.get(keyOf(module.replace(/@[^@]*$/, ''), name));
}

/** The grant that a function needs; null where it is always available. */
export function needOf({ abi }: WorldRow): GrantNeed {
  return ABI_FUNCTIONS.find(({ name }) => name === abi)?.needs ?? null;
}

/** Refuses a linked module with imports that were not granted, and names the missing grants. */
export function requireGranted(imports: readonly ImportName[], functions: readonly AbiName[]): void {
  const missing = imports.flatMap((each) => {
    const row = worldRow(each);
    return row === undefined || row.abi === null || functions.includes(row.abi) ? [] : [{ ...each, row }];
  });
  const [first] = missing;
  // Boundary: what was not granted does not exist, and nothing takes its place.
  if (first === undefined) return;
  const what = `${first.module}.${first.name}`;
  const flags = new Set(missing.map(({ row }) => `--grant ${flagOf(needOf(row))}`));
  const message = `Cannot link "${what}": it was not granted, expected ${[...flags].join(' ')}`;
  throw new WasmError('link', message, { detail: what });
}

type ImportName = Pick<WorldImport, 'module' | 'name'>;

/** Whether a function is a typed one of the ABI; the others are those of WASI. */
export function isSkillRow({ interface: name }: Pick<WorldRow, 'interface'>): boolean {
  return name.startsWith(`${SKILL_PACKAGE}/`);
}

/** The module that a linked component imports a row from. */
export function moduleOf(row: Pick<WorldRow, 'interface'>): string {
  return `${row.interface}@${isSkillRow(row) ? SKILL_VERSION : '0.2'}`;
}

/** The interface without its version, if it belongs to this world. */
function knownInterface(interfaceName: string): string | null {
  const [, pack = '', part = '', version = ''] = ASKED.exec(interfaceName) ?? [];
  const isVersion = pack === SKILL_PACKAGE ? version === SKILL_VERSION : WASI_VERSION.test(version);
  const name = `${pack}/${part}`;
  // Boundary: what is not in the tables cannot be imported.
  return isVersion && INTERFACES.has(name) ? name : null;
}

function keyOf(interfaceName: string, functionName: string): string {
  return `${interfaceName}.${functionName}`;
}

function flagOf(need: GrantNeed): string {
  const hasValue = need === 'config' || (need !== null && isCapabilityKind(need));
  return hasValue ? `${need}${need === 'config' ? ':KEY=VALUE' : '=…'}` : String(need);
}

function withRemedy(error: WasmError): WasmError {
  const { detail = '', message } = error;
  if (!detail.includes(':')) return error;
  const [, remedy = ''] = REMEDIES.find(([prefix]) => detail.startsWith(prefix)) ?? [];
  return new WasmError('link', `${message}; ${remedy}`, { detail, cause: error });
}
