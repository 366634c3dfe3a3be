import { RENEW } from '../meter/controls.ts';
import type { WasmModule } from '../read/module.ts';
import { PAGE_BYTES } from './memory.ts';

/** What stands in a memory before a guest runs. */
export type Image = { readonly memory: number; readonly place: number; readonly bytes: Uint8Array };

/**
 * How a guest that ended well is made new where it sits: its memories are cleared and get their images, and its globals
 * are set back by the control that the meter added. That is all the state there is, since the meter adds the control
 * only to a module in which nothing changes a table or gives up a segment. Null: only a new instance is new.
 */
export type Renewal = readonly Image[] | null;

/** Above it a new instance is as cheap. */
const MOST_BYTES = 1024 * 1024;

export function renewalOf(
  module: WebAssembly.Module,
  { data, bytes }: WasmModule,
  memories: readonly { readonly minPages: number }[],
): Renewal {
  const isRenewable = WebAssembly.Module.exports(module).some(({ name }) => name === RENEW);
  const total = memories.reduce((sum, { minPages }) => sum + minPages * PAGE_BYTES, 0);
  if (!isRenewable || total > MOST_BYTES) return null;
  const images: Image[] = [];
  for (const { mode, memory, place, start, end } of data) {
    if (mode === 'passive') continue;
    // Boundary: what cannot be put back exactly is never put back at all.
    if (place === undefined) return null;
    images.push({ memory, place, bytes: bytes.subarray(start, end) });
  }
  return images;
}
