import { WasmError } from '../../src/error.ts';

/** The WasmError that `act` ends with; anything else fails the test. */
export function refused(act: () => unknown): WasmError {
  try {
    act();
  } catch (error) {
    if (error instanceof WasmError) return error;
    throw error;
  }
  throw new Error('It went through, expected a WasmError');
}

/** The same for what happens later. */
export async function refusedLater(act: () => Promise<unknown>): Promise<WasmError> {
  const outcome = await act().then(
    () => new Error('It went through, expected a WasmError'),
    (error: unknown) => error,
  );
  if (outcome instanceof WasmError) return outcome;
  throw outcome;
}
