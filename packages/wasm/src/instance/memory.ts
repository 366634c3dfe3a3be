import { WasmError } from '../error.ts';
import type { MemorySlot } from './recipe.ts';

export const PAGE_BYTES = 65_536;

/**
 * Up to here a used memory is cleared rather than replaced: clearing 16 MiB takes 0.2 ms, a new memory of that size
 * takes 0.6 ms once its pages are faulted in and the old one is collected. A larger one is likely touched in few places.
 */
const MOST_CLEARED_BYTES = 16 * 1024 * 1024;

/** The slots with their maxima lowered until all together stay within `memoryBytes`; refused when the minima do not. */
export function narrowSlots(
  slots: readonly MemorySlot[],
  memoryBytes: number,
  compiledBytes: number,
): readonly MemorySlot[] {
  // The meter holds all memories together to what the module was compiled with.
  if (memoryBytes >= compiledBytes) return slots;
  let leftPages =
    Math.floor(memoryBytes / PAGE_BYTES) - slots.reduce((pages, { minPages }) => pages + minPages, 0);
  if (leftPages < 0) {
    const needed = slots.reduce((bytes, { minPages }) => bytes + minPages * PAGE_BYTES, 0);
    const message = `Cannot make instance: its memories start with ${needed} bytes, expected at most ${memoryBytes}`;
    throw new WasmError('limit', message, { detail: 'memoryBytes' });
  }
  return slots.map((slot) => {
    const growth = Math.min(slot.maxPages - slot.minPages, leftPages);
    leftPages -= growth;
    return { ...slot, maxPages: slot.minPages + growth };
  });
}

/** All the memory an instance can ever have. */
export function allowanceOf(slots: readonly MemorySlot[], memoryBytes: number): number {
  const bytes = slots.reduce((sum, { maxPages }) => sum + maxPages * PAGE_BYTES, 0);
  return Math.min(bytes, memoryBytes);
}

export function makeMemory({ minPages, maxPages }: MemorySlot): WebAssembly.Memory {
  try {
    return new WebAssembly.Memory({ initial: minPages, maximum: maxPages });
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const message = `Cannot make memory: the machine has no ${minPages * PAGE_BYTES} bytes left`;
    throw new WasmError('memory', message, { detail: 'machine', cause });
  }
}

/** Boundary: a view that a host function kept is detached, so it shows nothing of the next guest. */
export function detachViews(memory: WebAssembly.Memory): void {
  // Growing by nothing gives the memory another buffer and detaches the old one from every view.
  memory.grow(0);
}

/** The memory as new, cleared; undefined where a new one is cheaper, or needed because this one has grown. */
export function renewMemory(
  { minPages }: MemorySlot,
  memory: WebAssembly.Memory | undefined,
): WebAssembly.Memory | undefined {
  const buffer = memory?.buffer;
  if (buffer?.byteLength !== minPages * PAGE_BYTES || buffer.byteLength > MOST_CLEARED_BYTES)
    return undefined;
  // Boundary: nothing that a guest wrote is visible to the next one.
  new Uint8Array(buffer).fill(0);
  return memory;
}
