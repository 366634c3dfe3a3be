/** Components on the command line: one core module each, and a tool by whatever name it answers to. */
import { isComponent, type LinkedComponent, WasmError } from '@palisade/wasm';
import { CodedError } from '../../../core/coded-error.ts';
import type { WasmGrants } from '../../../core/wasm.ts';
import { capabilitiesOf } from '../../../registry/skill-tool.ts';
import { shorten } from '../../../skills/audit/module/words.ts';
import { linkToWorld, needOf, worldRow } from '../../../tiers/a-wasm/world/world.ts';
import { wrongUsage } from '../input.ts';
import { GRANT_FORMS } from './grants.table.ts';

const READ_WORLD = 'Build it for the world of docs/components.md.';

/** A component as the one module that it is linked into; null for what is none. */
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

/** The name that a component is asked for. Which ones it knows only it can tell. */
export function requireToolName(name: string | undefined): string {
  if (name !== undefined && name !== '') return name;
  throw wrongUsage('Cannot choose a tool: --tool is missing, expected a name that the component knows');
}

/** Refuses a component that is not of the world, or imports what it was not granted. */
export function requireWorld(bytes: Uint8Array, grants: WasmGrants): void {
  const granted = new Set(capabilitiesOf(grants));
  for (const { module, name } of linked(bytes).imports) {
    const row = worldRow({ module, name });
    const need = row === undefined ? null : needOf(row);
    if (need === null || granted.has(need)) continue;
    const { form } = GRANT_FORMS[need];
    const what = `${shorten(module)}.${shorten(name)}`;
    throw new CodedError(
      'wasm/link',
      `Cannot run the component: it imports ${what}, which was not granted, expected --grant ${form}`,
      { remedy: `Grant it with --grant ${form}, or build the component without it.` },
    );
  }
}
