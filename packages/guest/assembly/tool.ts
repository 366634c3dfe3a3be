import * as host from './beside/palisade_v1';
import { Json } from './json';
import { readJson } from './json-reader';
import { writeJson } from './json-writer';

/** Allocates memory for the input. Export it: `export { palisade_alloc } from '@palisade/guest/assembly';` */
export function palisade_alloc(length: i32): usize {
  return heap.alloc(length);
}

/** Runs a tool: reads its input, and returns its output in the form that an export returns. */
export function run(pointer: usize, length: usize, tool: (input: Json) => Json): u64 {
  const input = readJson(pointer, length);
  // The gateway always passes canonical JSON; anything else comes from another caller.
  if (input === null) return returned(fail('wrong-input', 'expected JSON'));
  return returned(tool(input));
}

/** Reports that the tool failed, with a message for its caller. The result may be returned; it is ignored. */
export function fail(code: string, message: string): Json {
  const error = writeJson(Json.object().setText('code', code).setText('message', message));
  host.fail(error.dataStart, error.length);
  return Json.nothing();
}

function returned(output: Json): u64 {
  const bytes = writeJson(output);
  return ((bytes.dataStart as u64) << 32) | (bytes.length as u64);
}
