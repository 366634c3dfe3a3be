import { WasmError } from '../error.ts';

/** The caps that all instances of an engine share. */
export type Caps = { readonly instances: number; readonly totalMemoryBytes: number };

/** What is reserved at this moment. */
export type Occupancy = { readonly instances: number; readonly memoryBytes: number };

/** A reservation of instances and bytes. Releasing it twice releases it once. */
export type Reservation = { release(): void };

/**
 * Counts the live instances. An instance is admitted with all the memory it may ever grow to, so no admitted guest can
 * be starved, and none can take what is reserved for another.
 */
export class Capacity {
  readonly #caps: Caps;
  #instances = 0;
  #memoryBytes = 0;

  constructor(caps: Caps) {
    this.#caps = caps;
  }

  occupancy(): Occupancy {
    return { instances: this.#instances, memoryBytes: this.#memoryBytes };
  }

  reserve(instances: number, memoryBytesEach: number): Reservation {
    const memoryBytes = instances * memoryBytesEach;
    this.#admit(instances, memoryBytes);
    this.#instances += instances;
    this.#memoryBytes += memoryBytes;
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        this.#instances -= instances;
        this.#memoryBytes -= memoryBytes;
      },
    };
  }

  #admit(instances: number, memoryBytes: number): void {
    // Boundary: what would exceed a cap of the engine is refused before V8 allocates anything.
    if (this.#instances + instances > this.#caps.instances) {
      const state = `${this.#instances} of ${this.#caps.instances} instances are taken`;
      throw new WasmError('memory', `Cannot make ${instances} more: ${state}, expected one to be released`, {
        detail: 'instances',
      });
    }
    if (this.#memoryBytes + memoryBytes > this.#caps.totalMemoryBytes) {
      const state = `${this.#memoryBytes} of ${this.#caps.totalMemoryBytes} bytes of memory are reserved`;
      throw new WasmError(
        'memory',
        `Cannot reserve ${memoryBytes} bytes: ${state}, expected some to be released`,
        {
          detail: 'totalMemoryBytes',
        },
      );
    }
  }
}
