import { WasmError } from '../../error.ts';

/** The error for what does not fit the world or the parts of the component; `what` is `<what is>, expected <what should be>`. */
export function unlinked(what: string, detail: string, offset?: number): WasmError {
  const facts = offset === undefined ? { detail } : { detail, offset };
  return new WasmError('link', `Cannot link component: ${what}`, facts);
}
