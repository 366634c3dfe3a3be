/**
 * The world that components are held to: what they may import, by interface and function, and what they export. A
 * component asks with a version; of WASI any 0.2.x is the same to us, so what the linked module imports names none.
 */
import {
  CEILINGS,
  type LinkedComponent,
  linkComponent,
  WasmError,
  type World,
  type WorldImport,
} from '@palisade/wasm';
import { ABI_FUNCTIONS, type AbiName, CAPABILITY_KINDS, type Need } from './abi.table.ts';
import { FILE_FUNCTIONS, NO_DIRECTORIES, REMEDIES, WASI_FUNCTIONS } from './wasi.table.ts';
import {
  RUN_NAME,
  RUN_TYPE,
  SKILL_FUNCTIONS,
  SKILL_PACKAGE,
  SKILL_VERSION,
  TYPE_INTERFACES,
  type WorldRow,
} from './world.table.ts';

/** Every function that a component can import. */
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

/** What components are linked against. */
export function worldOf(): World {
  return {
    knows: (interfaceName) => asked(interfaceName) !== null,
    find: (interfaceName, functionName) => {
      const found = asked(interfaceName);
      const row = found === null ? undefined : ROWS.get(keyOf(found, functionName));
      return row === undefined ? null : { module: moduleOf(row), name: row.name, type: row.type };
    },
    exports: { [RUN_NAME]: RUN_TYPE },
  };
}

/** One core module of a component that keeps to the world; the refusal of another says what to do about it. */
export function linkToWorld(bytes: Uint8Array): LinkedComponent {
  try {
    // Whether its memory fits is for the limits of the call, when what it became is compiled.
    return linkComponent(bytes, worldOf(), { memoryBytes: CEILINGS.memoryBytes });
  } catch (error) {
    if (!(error instanceof WasmError) || error.code !== 'link') throw error;
    throw withRemedy(error);
  }
}

/** The row behind an import of a linked module; undefined where it is none of this world. */
export function worldRow({ module, name }: Place): WorldRow | undefined {
  return ROWS.get(keyOf(module.replace(/@[^@]*$/, ''), name));
}

/** The grant that a function needs; null where it is always there. */
export function needOf({ does }: WorldRow): Need {
  return ABI_FUNCTIONS.find(({ name }) => name === does)?.needs ?? null;
}

/** Refuses a linked module that imports what was not granted, and says which grants it lacks. */
export function requireGranted(imports: readonly Place[], functions: readonly AbiName[]): void {
  const missing = imports.flatMap((each) => {
    const row = worldRow(each);
    return row === undefined || row.does === null || functions.includes(row.does) ? [] : [{ ...each, row }];
  });
  const [first] = missing;
  // Boundary: what was not granted is not there, and nothing stands in for it.
  if (first === undefined) return;
  const what = `${first.module}.${first.name}`;
  const words = new Set(missing.map(({ row }) => `--grant ${wordOf(needOf(row))}`));
  const message = `Cannot link "${what}": it was not granted, expected ${[...words].join(' ')}`;
  throw new WasmError('link', message, { detail: what });
}

type Place = Pick<WorldImport, 'module' | 'name'>;

/** The module that a linked component imports a row from. */
export function moduleOf({ interface: name }: Pick<WorldRow, 'interface'>): string {
  return name.startsWith('wasi:') ? `${name}@0.2` : `${name}@${SKILL_VERSION}`;
}

/** The interface without its version, where it is one of this world. */
function asked(interfaceName: string): string | null {
  const [, pack = '', part = '', version = ''] = ASKED.exec(interfaceName) ?? [];
  const isVersion = pack === SKILL_PACKAGE ? version === SKILL_VERSION : WASI_VERSION.test(version);
  const name = `${pack}/${part}`;
  // Boundary: what the tables do not have, nobody can import.
  return isVersion && INTERFACES.has(name) ? name : null;
}

function keyOf(interfaceName: string, functionName: string): string {
  return `${interfaceName}.${functionName}`;
}

function wordOf(need: Need): string {
  const hasValue = need === 'config' || (need !== null && need in CAPABILITY_KINDS);
  return hasValue ? `${need}${need === 'config' ? ':KEY=VALUE' : '=…'}` : String(need);
}

function withRemedy(error: WasmError): WasmError {
  const { detail = '', message } = error;
  if (!detail.includes(':')) return error;
  const [, remedy = ''] = REMEDIES.find(([prefix]) => detail.startsWith(prefix)) ?? [];
  return new WasmError('link', `${message}; ${remedy}`, { detail, cause: error });
}
