import { WasmError } from '../error.ts';
import { callExport } from './call-export.ts';
import { type CallState, charge, usageOf } from './call-state.ts';
import { framesOf } from './frames.ts';
import type { GuestValue } from './value.ts';

/**
 * What a host function sees of the guest that called it: one memory (the one exported as `memory`, else the first) and
 * the fuel. Pointers and lengths are taken as the 32-bit numbers the guest passed, signed or not. Valid only until the
 * host function returns.
 */
export type Guest = {
  /** The `context` passed to this call. */
  readonly context: unknown;
  /** A view of the guest's memory as it is now; a memory that grows leaves it empty. */
  bytes(pointer: number, length: number): Uint8Array<ArrayBuffer>;
  /** A copy. */
  read(pointer: number, length: number): Uint8Array<ArrayBuffer>;
  write(pointer: number, bytes: Uint8Array): void;
  /** Text from UTF-8; what is not UTF-8 ends the call. */
  readText(pointer: number, length: number): string;
  /** Takes fuel for work that grows with the arguments, before it is done. Too little left ends the call as 'fuel'. */
  charge(fuel: number): void;
  fuelLeft(): number;
  /**
   * Calls an export of the guest that has one result or none, on the same fuel, stack and deadline. Inside a host
   * function the guest cannot reach the host: a crossing ends the call as 'trap' with the detail 're-entered'. If the
   * guest fails, the whole call has failed, even if the error is caught.
   */
  call(name: string, ...values: GuestValue[]): GuestValue | undefined;
};

const NO_BYTES = new ArrayBuffer(0);
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The guest as seen in one call. Every call has a new one: that of an earlier call reaches nothing. */
export class GuestView implements Guest {
  readonly #state: CallState;
  readonly #isVisit: boolean;

  /** For a visit, `call` lets the guest reach the host: no host function is running then. */
  constructor(state: CallState, isVisit = false) {
    this.#state = state;
    this.#isVisit = isVisit;
  }

  /** The state of the running call that `guest` shows. */
  static stateOf(guest: Guest): CallState {
    // Boundary: only a guest that an engine made has one.
    if (!(#state in guest)) throw new TypeError('Cannot use guest: it is an object of another kind');
    return guest.#running();
  }

  get context(): unknown {
    return this.#state.guest === this ? this.#state.context : undefined;
  }

  bytes(pointer: number, length: number): Uint8Array<ArrayBuffer> {
    const bytes = this.#view(pointer, length);
    this.#state.isExposed = true;
    return bytes;
  }

  #view(pointer: number, length: number): Uint8Array<ArrayBuffer> {
    const start = pointer >>> 0;
    const count = length >>> 0;
    // Read again each time: a memory that grew has another buffer.
    const buffer = this.#running().memory?.buffer ?? NO_BYTES;
    // Boundary: both are below 2^32, so their sum is exact; past the end of the memory nothing is read or written.
    if (start + count > buffer.byteLength) throw this.#outOfBounds(start, count, buffer.byteLength);
    return new Uint8Array(buffer, start, count);
  }

  read(pointer: number, length: number): Uint8Array<ArrayBuffer> {
    return this.#view(pointer, length).slice();
  }

  write(pointer: number, bytes: Uint8Array): void {
    this.#view(pointer, bytes.length).set(bytes);
  }

  readText(pointer: number, length: number): string {
    const bytes = this.#view(pointer, length);
    try {
      return DECODER.decode(bytes);
    } catch (cause) {
      const where = `the ${bytes.length} bytes at ${bytes.byteOffset} are not UTF-8`;
      throw this.#raise(
        new WasmError('trap', `Cannot read text: ${where}`, {
          detail: 'utf-8',
          cause,
          usage: usageOf(this.#state),
        }),
      );
    }
  }

  charge(fuel: number): void {
    const state = this.#running();
    if (!Number.isSafeInteger(fuel) || fuel < 0) {
      throw new RangeError(`Cannot charge fuel: ${String(fuel)} was asked, expected a whole number`);
    }
    charge(state, fuel);
  }

  fuelLeft(): number {
    return Math.max(0, this.#running().controls.left());
  }

  call(name: string, ...values: GuestValue[]): GuestValue | undefined {
    const state = this.#running();
    // The visit's own view is out of reach as well while the guest runs: host functions have theirs.
    return callExport(state, { name, values, seen: this.#isVisit ? new GuestView(state) : undefined });
  }

  #running(): CallState {
    // Boundary: a guest that a host function kept is out of reach when its call has ended, also from inside the next one.
    if (this.#state.guest !== this) throw new WasmError('retired', 'Cannot use guest: its call has ended');
    return this.#state;
  }

  #outOfBounds(start: number, count: number, size: number): WasmError {
    const frames = framesOf(this.#state.recipe.origins, new Error('where the guest is'));
    const message = `Cannot reach ${count} bytes at ${start}: the memory has ${size}, expected them to lie inside`;
    return this.#raise(new WasmError('out-of-bounds', message, { usage: usageOf(this.#state), ...frames }));
  }

  #raise(error: WasmError): WasmError {
    this.#state.raised = error;
    return error;
  }
}
