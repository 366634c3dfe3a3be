import { WasmError } from '../error.ts';

// V8's type of a typed array, whatever realm it comes from and whatever its class says.
const TYPED_ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype);
const TAG = Object.getOwnPropertyDescriptor(TYPED_ARRAY, Symbol.toStringTag);
const LENGTH = Object.getOwnPropertyDescriptor(TYPED_ARRAY, 'length');

/** A copy that the caller cannot change while it is hashed and compiled. Nothing but a Uint8Array is copied. */
export function copyBytes(
  raw: Uint8Array,
  act: 'compile' | 'revive',
  most = Number.POSITIVE_INFINITY,
): Uint8Array<ArrayBuffer> {
  const tag: unknown = TAG?.get?.call(raw);
  // Boundary: of a list of other numbers, or of a view of other units, every one would be converted to a byte.
  if (tag !== 'Uint8Array') {
    throw new TypeError(`Cannot ${act} module: it is of type ${tag ?? typeof raw}, expected a Uint8Array`);
  }
  const length: number = LENGTH?.get?.call(raw);
  if (length > most) {
    const message = `Cannot ${act} module: it has ${length} bytes, expected at most ${most}`;
    throw new WasmError('limit', message, { detail: 'moduleBytes' });
  }
  const copy = allocate(length, act);
  try {
    // Boundary: `slice` would not do, a Buffer's shares its bytes. A shared buffer that grew since is too long for this.
    copy.set(raw);
  } catch (cause) {
    throw new TypeError(`Cannot ${act} module: its bytes were taken away or grew, expected them to stay`, {
      cause,
    });
  }
  return copy;
}

function allocate(length: number, act: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(length);
  } catch (cause) {
    const message = `Cannot ${act} module: the machine has no ${length} bytes left`;
    throw new WasmError('memory', message, { detail: 'machine', cause });
  }
}
