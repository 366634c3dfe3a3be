/* Modules written byte by byte: of any size, or with any memory. */

const [I32, FUNCTION, END] = [0x7f, 0x60, 0x0b];
const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

function leb(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb(Math.floor(value / 128))];
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...leb(content.length), ...content];
}

function body(code: readonly number[], locals: readonly number[] = [0]): number[] {
  return [...leb(code.length + locals.length + 1), ...locals, ...code, END];
}

/** Exports `run: (i32) -> i32`, which stores its argument, and has a memory of this many pages. */
export function moduleWithMemory(pages: number): Uint8Array<ArrayBuffer> {
  const store = [0x41, 0, 0x20, 0, 0x36, 2, 0, 0x20, 0];
  return Uint8Array.from([
    ...HEADER,
    ...section(1, [1, FUNCTION, 1, I32, 1, I32]),
    ...section(3, [1, 0]),
    ...section(5, [1, 1, ...leb(pages), ...leb(pages)]),
    ...section(7, [1, 3, ...Buffer.from('run'), 0, 0]),
    ...section(10, [1, ...body(store)]),
  ]);
}

/** About as large as asked: functions with loops, branches, loads, stores and calls; `run` is the first one. */
export function moduleOfSize(bytes: number): Uint8Array<ArrayBuffer> {
  const count = Math.max(2, Math.round(bytes / (sampleBody(100).length + 1)));
  const bodies = Array.from({ length: count }, (_, index) => sampleBody(index));
  const [size, functions] = [bodies.reduce((sum, each) => sum + each.length, 0), leb(count)];
  const before = [
    ...HEADER,
    ...section(1, [1, FUNCTION, 1, I32, 1, I32]),
    ...[3, ...leb(functions.length + count), ...functions],
  ];
  const after = [
    ...section(5, [1, 1, 1, 1]),
    ...section(7, [1, 3, ...Buffer.from('run'), 0, 0]),
    ...[10, ...leb(functions.length + size), ...functions],
  ];
  const module = new Uint8Array(before.length + count + after.length + size);
  module.set(before, 0);
  module.set(after, before.length + count);
  let at = before.length + count + after.length;
  for (const each of bodies) {
    module.set(each, at);
    at += each.length;
  }
  return module;
}

/** With parameter n: sums over memory in a loop of n & 15 rounds, and calls the function before it when n is large. */
function sampleBody(index: number): number[] {
  const [get, set, tee] = [0x20, 0x21, 0x22];
  const [n, i, sum] = [0, 1, 2];
  const load = [0x28, 2, ...leb(index % 1000)];
  const store = [0x36, 2, ...leb(index % 1000)];
  return body(
    [
      ...[0x02, 0x40, 0x03, 0x40], // block loop
      ...[get, i, get, n, 0x41, 15, 0x71, 0x4f, 0x0d, 1], // leave when i >= n & 15
      ...[get, sum, get, i, 0x41, 2, 0x74, ...load, 0x6a, get, i, 0x6c, set, sum],
      ...[get, i, 0x41, 3, 0x71, 0x45, 0x04, 0x40, get, i, 0x41, 2, 0x74, get, sum, ...store, 0x0b],
      ...[get, i, 0x41, 1, 0x6a, tee, i, 0x1a, 0x0c, 0, 0x0b, 0x0b],
      ...[get, n, 0x41, 63, 0x4a, 0x04, I32], // if n > 63
      ...[get, n, 0x41, 1, 0x6b, 0x10, ...leb(Math.max(0, index - 1)), 0x05, get, sum, 0x0b],
    ],
    [1, 2, I32],
  );
}
