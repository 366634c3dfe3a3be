import type { Outline } from './outline.ts';

/** The contents of a memory before a guest runs. */
export type Image = { readonly memory: number; readonly address: number; readonly bytes: Uint8Array };

/**
 * How a guest that succeeded is reset in place: its memories are cleared and get their images, and its globals are set
 * back by the control that the meter added. That is all the state there is, since the meter adds the control only to a
 * module in which nothing changes a table or drops a segment. Null: a new instance is needed.
 */
export type Renewal = readonly Image[] | null;

export function renewalOf({ images }: Outline, code: Uint8Array): Renewal {
  if (images === null) return null;
  return images.map(([memory, address, start, end]) => ({
    memory,
    address,
    // A copy: a view would keep all of the code in memory.
    bytes: code.slice(start, end),
  }));
}
