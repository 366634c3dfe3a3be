import * as host from './beside/palisade_v1';
import { Json } from './json';
import { readJson } from './json-reader';
import { writeJson } from './json-writer';

/** Gives a place for the input. Export it: `export { palisade_alloc } from '@palisade/guest/assembly';` */
export function palisade_alloc(length: i32): usize {
  return heap.alloc(length);
}

/** Runs a tool: reads its input, and gives its output as an export returns it. */
export function run(place: usize, length: usize, tool: (input: Json) => Json): u64 {
  const input = readJson(place, length);
  // The gateway gives canonical JSON, so nobody else has called.
  if (input === null) return returned(fail('wrong-input', 'expected JSON'));
  return returned(tool(input));
}

/** Says that the tool failed, in words for its caller. What it gives may be returned; it is not looked at. */
export function fail(code: string, message: string): Json {
  const error = writeJson(Json.object().setText('code', code).setText('message', message));
  host.fail(error.dataStart, error.length);
  return Json.nothing();
}

function returned(output: Json): u64 {
  const bytes = writeJson(output);
  return ((bytes.dataStart as u64) << 32) | (bytes.length as u64);
}
