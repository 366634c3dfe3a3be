/** Copies function bodies with every index in them replaced by the one in the merged module. */
import { WasmError } from '../../error.ts';
import { IMMEDIATES } from '../../instructions.table.ts';
import { OP } from '../../meter/op.ts';
import { codeOf, IMMEDIATE_OF, MISC_BASE } from '../../meter/opcodes.ts';
import { Sink } from '../../meter/sink.ts';
import { Walker } from '../../meter/walker.ts';
import { KINDS, type PlacedModule } from './layout.ts';

/** A memory argument with this bit names its memory. */
const HAS_MEMORY = 0x40;
const NONE = 255;

/** What the indices after an instruction refer to, in their order. */
const INDICES: readonly (readonly [names: string, ...kinds: (keyof typeof KINDS)[]])[] = [
  ['call return_call ref.func', 'function'],
  ['call_indirect return_call_indirect', 'type', 'table'],
  ['global.get global.set', 'global'],
  ['table.get table.set table.grow table.size table.fill', 'table'],
  ['memory.size memory.grow memory.fill', 'memory'],
  ['memory.init', 'data', 'memory'],
  ['data.drop', 'data'],
  ['memory.copy', 'memory', 'memory'],
  ['table.init', 'element', 'table'],
  ['elem.drop', 'element'],
  ['table.copy', 'table', 'table'],
];

const FIRST = kindsAt(0);
const SECOND = kindsAt(1);

function kindsAt(position: 0 | 1): Uint8Array {
  const kinds = new Uint8Array(IMMEDIATE_OF.length).fill(NONE);
  for (const [names, ...of] of INDICES) {
    const kind = of[position];
    if (kind !== undefined) for (const name of names.split(' ')) kinds[codeOf(name)] = KINDS[kind];
  }
  return kinds;
}

/** Writes all bodies of a module to `out`, each with its size, and notes the functions that `ref.func` names. */
export function reindexBodies(placed: PlacedModule, out: Sink, named: Set<number>): void {
  const { bytes, bodies } = placed.module;
  const walker = new Walker(bytes);
  const body = new Sink(4096);
  for (let index = 0; index < bodies.length; index += 2) {
    body.length = 0;
    reindexBody(walker, { placed, body, named }, bodies[index] ?? 0, bodies[index + 1] ?? 0);
    out.sized(body);
  }
}

type Copying = { readonly placed: PlacedModule; readonly body: Sink; readonly named: Set<number> };

function reindexBody(walker: Walker, copying: Copying, start: number, end: number): void {
  const { body } = copying;
  walker.enter(start, end);
  passLocals(walker, start);
  let copied = start;
  while (walker.next < end) {
    walker.step();
    const { code, next } = walker;
    const follows = IMMEDIATE_OF[code];
    if (FIRST[code] !== NONE) copied = copyIndices(walker, copying, copied);
    else if (follows === IMMEDIATES.blockType) copied = copyBlockType(walker, copying, copied);
    else if (follows === IMMEDIATES.memory || follows === IMMEDIATES.memoryLane) {
      copied = copyMemory(walker, copying, copied);
    }
    walker.next = next;
  }
  body.copy(walker.bytes, copied, end);
}

function passLocals(walker: Walker, start: number): void {
  const runs = walker.readIndex(start);
  for (let left = runs; left > 0; left -= 1) {
    walker.readIndex(walker.next);
    walker.readValueType(walker.next);
    // Boundary: locals end before their body does.
    if (walker.next >= walker.end) throw lost('locals', walker.end);
  }
}

/** Where the immediates of the present instruction begin. */
function behindOpcode(walker: Walker): number {
  if (walker.code < MISC_BASE) return walker.at + 1;
  walker.readIndex(walker.at + 1);
  return walker.next;
}

/** Each copier returns the offset up to which the body has been copied; what did not change is left for later. */
function copyIndices(walker: Walker, { placed, body, named }: Copying, copied: number): number {
  const { code, first, second } = walker;
  const firstKind = FIRST[code] ?? NONE;
  const secondKind = SECOND[code] ?? NONE;
  const newFirst = mapped(placed, firstKind, first, walker.at);
  const newSecond = secondKind === NONE ? second : mapped(placed, secondKind, second, walker.at);
  if (code === OP.refFunc) named.add(newFirst);
  if (newFirst === first && newSecond === second) return copied;
  const start = behindOpcode(walker);
  body.copy(walker.bytes, copied, start);
  body.index(newFirst);
  walker.readIndex(start);
  if (secondKind === NONE) return walker.next;
  body.index(newSecond);
  walker.readIndex(walker.next);
  return walker.next;
}

function copyBlockType(walker: Walker, { placed, body }: Copying, copied: number): number {
  const { first, next } = walker;
  if (first < 0) return copied;
  const type = mapped(placed, KINDS.type, first, walker.at);
  if (type === first) return copied;
  body.copy(walker.bytes, copied, walker.at + 1);
  body.signed(type);
  return next;
}

function copyMemory(walker: Walker, { placed, body }: Copying, copied: number): number {
  const { second } = walker;
  const memory = mapped(placed, KINDS.memory, second, walker.at);
  if (memory === second) return copied;
  const start = behindOpcode(walker);
  const alignment = walker.readIndex(start);
  // Boundary: what is written is what was read; no instruction has so large an alignment.
  if (alignment >= 2 * HAS_MEMORY) throw lost('alignment', walker.at);
  body.copy(walker.bytes, copied, start);
  body.index((alignment & ~HAS_MEMORY) | (memory === 0 ? 0 : HAS_MEMORY));
  if (memory !== 0) body.index(memory);
  if (alignment >= HAS_MEMORY) walker.readIndex(walker.next);
  return walker.next;
}

function mapped(placed: PlacedModule, kind: number, index: number, at: number): number {
  const found = placed.maps[kind]?.[index];
  // Boundary: an index past the end of its own module never reaches into its neighbour.
  if (found === undefined) throw lost(`index ${index}`, at);
  return found;
}

function lost(what: string, offset: number): WasmError {
  return new WasmError('malformed', `Cannot read function: its ${what} goes too far, expected less`, {
    offset,
  });
}
