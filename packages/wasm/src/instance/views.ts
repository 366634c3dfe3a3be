import type { CallState } from './call-state.ts';

/** The guest's memory in the two forms it is read and written in. They stay inside the package. */
export type Views = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
};

const NO_BYTES = new ArrayBuffer(0);

/** Views of the memory as it is now. Growing detaches the earlier views. */
export function viewsOf(state: CallState): Views {
  // Asking V8 for the buffer takes longer than all the rest; an empty view means that there is a new one.
  if (state.views !== undefined && state.views.bytes.length > 0) return state.views;
  const buffer = state.memory?.buffer ?? NO_BYTES;
  const views = { bytes: new Uint8Array(buffer), view: new DataView(buffer) };
  state.views = views;
  return views;
}
