import { BYTES_PER_FUEL } from '../../costs.table.ts';
import { WasmError } from '../../error.ts';
import { callExport } from '../../instance/call-export.ts';
import { type CallState, charge, endCall, usageOf } from '../../instance/call-state.ts';
import { viewsOf } from '../../instance/views.ts';

/** The most bytes that one string or one list may have, by the canonical ABI. */
export const MOST_VALUE_BYTES = 2 ** 28 - 1;

/**
 * The bytes that the parts of one crossing may have beyond the whole memory. Parts that do not overlap fit into the
 * memory; a guest that passes the same text many times may do so up to here.
 */
export const MOST_SHARED_BYTES = 16 * 1024 * 1024;

/** The name that the linked module gives the function that allocates in the guest's memory. */
const REALLOC = 'realloc';

/**
 * One crossing of values between host and guest: the guest's memory as it is now, and the ways the crossing can end the
 * call. Numbers of the guest are pointers only after `reach` has checked them.
 */
export class LiftLowerContext {
  readonly state: CallState;
  bytes: Uint8Array<ArrayBuffer>;
  view: DataView<ArrayBuffer>;
  readonly #mostBytes: number | undefined;
  #takenBytes = 0;

  /** With `mostBytes`, copying more from the guest in all ends the call as 'limit'. */
  constructor(state: CallState, mostBytes?: number) {
    this.state = state;
    this.#mostBytes = mostBytes;
    const { bytes, view } = viewsOf(state);
    this.bytes = bytes;
    this.view = view;
  }

  /** To be called whenever the guest has run: a memory that grew has other views. */
  refresh(): void {
    const { bytes, view } = viewsOf(this.state);
    this.bytes = bytes;
    this.view = view;
  }

  /** The pointer as an offset where `size` bytes can be read and written, or the end of the call. */
  reach(pointer: number, size: number, align: number): number {
    const at = pointer >>> 0;
    // Boundary: both are below 2^32, so their sum is exact.
    if (at + size > this.bytes.length) throw this.#outside(at, size);
    // Boundary: alignments are powers of two.
    if ((at & (align - 1)) !== 0)
      throw this.trap('alignment', `pointer ${at} is not a multiple of ${align}`, 'one');
    return at;
  }

  /** The same for bytes that are going to be copied out of the guest, all of which are counted. */
  take(pointer: number, size: number, align: number): number {
    this.#takenBytes += size;
    this.#requireFew(this.#takenBytes);
    return this.reach(pointer, size, align);
  }

  /** Allocates `size` bytes in the guest. The guest runs for that, but cannot reach the host. */
  allocate(size: number, align: number): number {
    const address = callExport(this.state, { name: REALLOC, values: [0, 0, align, size] });
    this.refresh();
    return this.reach(Number(address), size, align);
  }

  /** The bytes of a list of that many elements; refused when that is more than a list may have. */
  measure(length: number, elementBytes: number): number {
    const bytes = length * elementBytes;
    if (bytes <= MOST_VALUE_BYTES) return bytes;
    throw this.trap('length', `a value has ${bytes} bytes`, `at most ${MOST_VALUE_BYTES}`);
  }

  /** Takes the fuel for bytes that are going to be copied, and for elements that are going to be created. */
  pay(bytes: number, elements = 0): void {
    const fuel = Math.ceil(bytes / BYTES_PER_FUEL) + elements;
    if (fuel > 0) charge(this.state, fuel);
  }

  /** Ends the call because of a value that is not of its type. */
  trap(detail: string, is: string, expected: string, cause?: unknown): WasmError {
    const message = `Cannot pass value: ${is}, expected ${expected}`;
    const usage = usageOf(this.state);
    return endCall(this.state, new WasmError('trap', message, { detail, usage, cause }));
  }

  #requireFew(taken: number): void {
    const most = this.#mostBytes ?? this.bytes.length + MOST_SHARED_BYTES;
    // Boundary: a guest can name the same bytes in a million places, and each of them would be copied.
    if (taken <= most) return;
    if (this.#mostBytes === undefined)
      throw this.trap('length', `the parts of a value have ${taken} bytes`, `at most ${most}`);
    const message = `Cannot take answer: it has ${taken} bytes, expected at most ${most}`;
    const facts = { detail: 'mostBytes', usage: usageOf(this.state) };
    throw endCall(this.state, new WasmError('limit', message, facts));
  }

  #outside(at: number, size: number): WasmError {
    const message = `Cannot pass value: its ${size} bytes at ${at} lie outside of the memory of ${this.bytes.length}, expected them inside`;
    return endCall(this.state, new WasmError('out-of-bounds', message, { usage: usageOf(this.state) }));
  }
}
