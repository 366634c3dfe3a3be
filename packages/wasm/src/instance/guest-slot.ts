import { WasmError } from '../error.ts';
import { RENEW } from '../meter/controls.ts';
import {
  type CallEnvironment,
  type CallState,
  type Controls,
  NO_CONTROLS,
  NO_EXPORTS,
  newCallState,
} from './call-state.ts';
import type { HostTable } from './host.ts';
import { type ImportObject, link, put } from './link.ts';
import { detachViews, makeMemory, renewMemory } from './memory.ts';
import { CONTROL_PREFIX } from './names.ts';
import type { MemorySlot, Recipe } from './recipe.ts';

export type GuestSlotOptions = {
  readonly recipe: Recipe;
  readonly hosts: HostTable;
  /** The recipe's memories, narrowed to the limits of this slot. */
  readonly memorySlots: readonly MemorySlot[];
  readonly environment: CallEnvironment;
};

/**
 * The slot of one guest: its memories, its host functions, the state of its call. A guest is a WebAssembly.Instance of
 * its own, so a new guest has new globals, tables and segments; memories are reused where they can be cleared. If
 * everything that the guest could change can be reset, the instance is reset and becomes the next guest. Between calls
 * the slot contains nothing of the former guest.
 */
export class GuestSlot {
  readonly recipe: Recipe;
  readonly state: CallState;
  /** Whether a run of the pool uses it. */
  isTaken = false;
  readonly #memorySlots: readonly MemorySlot[];
  readonly #imports: ImportObject;
  /** Clean memories, by slot. */
  #spare: readonly (WebAssembly.Memory | undefined)[] = [];
  #guest: WebAssembly.Instance | undefined;
  /** The guest has not been called yet. */
  #isNew = false;

  /** Refuses a module whose imports the table does not cover. */
  constructor({ recipe, hosts, memorySlots, environment }: GuestSlotOptions) {
    this.recipe = recipe;
    this.state = newCallState(recipe, environment);
    this.#memorySlots = memorySlots;
    this.#imports = link(recipe, hosts, this.state);
  }

  /** A new guest for one run. Boundary: however the run ends, it is not new to the next run unless `clear` said so. */
  occupy(): void {
    this.prepare();
    this.#isNew = false;
    this.#spare = [];
  }

  /** The guest that is already in the slot; a new one if there is none or it has been called. */
  prepare(): WebAssembly.Instance {
    if (this.#guest !== undefined && this.#isNew) return this.#guest;
    const memories = this.#memorySlots.map(
      (memorySlot, index) => this.#spare[index] ?? makeMemory(memorySlot),
    );
    // V8 copies segments while it makes the instance: if that fails, the memories are no longer clean.
    this.#spare = [];
    this.#import(memories);
    const guest = makeInstance(this.recipe.module, this.#imports);
    this.state.memories = memories;
    this.state.memory = memories[this.recipe.guestMemory];
    this.state.controls = controlsOf(guest);
    this.state.exports = guest.exports;
    this.#guest = guest;
    this.#isNew = true;
    return guest;
  }

  /** Drops the guest, or resets it in place only if it succeeded: after a trap nothing is reused. */
  clear(endedWell: boolean): void {
    const { memory, isExposed, memories } = this.state;
    if (memory !== undefined && isExposed) detachViews(memory);
    this.state.isExposed = false;
    this.state.views = undefined;
    this.#spare = endedWell
      ? this.#memorySlots.map((memorySlot, index) => renewMemory(memorySlot, memories[index]))
      : [];
    this.#isNew = endedWell && this.#renew();
    if (this.#isNew) return;
    this.#guest = undefined;
    this.#import([]);
    this.state.memories = [];
    this.state.memory = undefined;
    this.state.controls = NO_CONTROLS;
    this.state.exports = NO_EXPORTS;
  }

  /** Resets the guest in place; false if that is not possible. */
  #renew(): boolean {
    const { renewal } = this.recipe;
    const { renew } = this.state.controls;
    // Boundary: a memory that has grown cannot shrink, and all of them are reset or none is reused.
    if (renewal === null || renew === undefined || this.#spare.includes(undefined)) return false;
    for (const { memory, address, bytes } of renewal) {
      const buffer = this.#spare[memory]?.buffer;
      if (buffer !== undefined) new Uint8Array(buffer).set(bytes, address);
    }
    renew();
    return true;
  }

  #import(memories: readonly WebAssembly.Memory[]): void {
    for (const [index, memorySlot] of this.#memorySlots.entries())
      put(this.#imports, memorySlot, memories[index]);
  }
}

function makeInstance(module: WebAssembly.Module, imports: ImportObject): WebAssembly.Instance {
  try {
    return new WebAssembly.Instance(module, imports as WebAssembly.Imports);
  } catch (cause) {
    if (cause instanceof WebAssembly.LinkError) {
      throw new WasmError('link', 'Cannot make instance: V8 refuses to link it', { cause });
    }
    // Nothing of the guest runs here but the copying of its segments.
    if (cause instanceof WebAssembly.RuntimeError) {
      throw new WasmError(
        'out-of-bounds',
        'Cannot make instance: a segment lies outside its memory or table, expected it to fit',
        { cause },
      );
    }
    if (cause instanceof RangeError) {
      throw new WasmError('memory', 'Cannot make instance: the machine has no memory left', {
        detail: 'machine',
        cause,
      });
    }
    throw cause;
  }
}

function controlsOf({ exports }: WebAssembly.Instance): Controls {
  const start = exports[`${CONTROL_PREFIX}start`];
  return {
    set: exports[`${CONTROL_PREFIX}set`] as Controls['set'],
    charge: exports[`${CONTROL_PREFIX}charge`] as Controls['charge'],
    left: exports[`${CONTROL_PREFIX}left`] as Controls['left'],
    why: exports[`${CONTROL_PREFIX}why`] as Controls['why'],
    start: start as Controls['start'],
    renew: exports[RENEW] as Controls['renew'],
  };
}
