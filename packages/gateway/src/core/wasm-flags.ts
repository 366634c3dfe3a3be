import { setFlagsFromString } from 'node:v8';

/**
 * How V8 runs WebAssembly in the processes of the gateway. Set before code is taken from the code cache, which V8 only
 * accepts under the flags that it was made under, and again where a module is loaded.
 */
export function setWasmFlags(): void {
  // Boundary: Node 20 ends the whole process ("unreachable code") when it deoptimises code in the middle of a call into
  // WebAssembly that passes objects, as every call of Cedar does. Calls that are not inlined are safe.
  setFlagsFromString('--no-turbo-inline-js-wasm-calls');
  // Most of Cedar runs once or twice in a short-lived command; optimising it at once costs more than it ever gives
  // back. A long-lived process still gets optimised code, after some hundred decisions.
  setFlagsFromString('--wasm-tiering-budget=300000000');
}
