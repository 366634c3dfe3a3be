/**
 * Steps through the instructions of a body, one at a time and forward only. It checks that what it reads is a known
 * instruction of an allowed feature that ends inside the body; its users and V8 check indices and types.
 */
import { WasmError } from '../error.ts';
import { type FeatureName, requireFeature } from '../features.table.ts';
import { IMMEDIATES } from '../instructions.table.ts';
import { EXTERNREF, F32, F64, FUNCREF, I32, I64, refuseType, V128 } from '../read/value-type.ts';
import { NOTHING } from './op.ts';
import {
  CODE_FEATURES,
  FEATURE_OF,
  IMMEDIATE_OF,
  MISC_BASE,
  MISC_PREFIX,
  refusedFeature,
  VECTOR_BASE,
  VECTOR_PREFIX,
} from './opcodes.ts';

const VALUE_TYPES: ReadonlySet<number> = new Set([I32, I64, F32, F64, V128, FUNCREF, EXTERNREF]);
/** A memory argument with this bit names its memory. */
const HAS_MEMORY = 0x40;

export class Walker {
  readonly bytes: Uint8Array;
  /** Where the current instruction begins. */
  at = 0;
  /** Where the next one begins. */
  next = 0;
  end = 0;
  code = 0;
  /** The code of the instruction before. */
  previous = 0;
  /** Its index, label, block type or count; of `br_table` the number of labels without the default. */
  first = 0;
  second = 0;
  /** Of `br_table`: where the labels begin. */
  labelsAt = 0;
  readonly #seen = new Uint8Array(CODE_FEATURES.length);
  /** By code: 1 once it has occurred. */
  readonly #met = new Uint8Array(IMMEDIATE_OF.length);

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  enter(start: number, end: number): void {
    this.at = start;
    this.next = start;
    this.end = end;
  }

  /** The features of all instructions so far. */
  features(): FeatureName[] {
    return CODE_FEATURES.filter((_name, index) => this.#seen[index] === 1);
  }

  /** Reads the next instruction. */
  step(): void {
    const at = this.next;
    this.at = at;
    this.previous = this.code;
    // Boundary: nothing is read past the end of the body as an instruction.
    if (at >= this.end) throw this.#short();
    this.next = at + 1;
    let code = this.bytes[at] ?? 0;
    // A code that has occurred before is known and allowed; a prefix is never marked.
    if (this.#met[code] !== 1) code = this.#meet(code);
    this.code = code;
    const follows = IMMEDIATE_OF[code] ?? 0;
    if (follows === IMMEDIATES.none) return;
    const byte = this.bytes[at + 1] ?? 0x80;
    // The most frequent immediate: one small index.
    if (follows === IMMEDIATES.local && byte < 0x80) {
      this.first = byte;
      this.next = at + 2;
    } else this.#readImmediate(follows);
    if (this.next > this.end) throw this.#short();
  }

  /** Reads an unsigned number at `at` and leaves `next` after it. */
  readIndex(at: number): number {
    const byte = this.bytes[at] ?? 0x80;
    if (byte < 0x80) {
      this.next = at + 1;
      return byte;
    }
    return this.#readLong(at, byte);
  }

  /** Reads a value type at `at`, which is one byte, and leaves `next` after it. */
  readValueType(at: number): number {
    const byte = this.bytes[at] ?? 0;
    // Boundary: a type that V8 reads as more than one byte would be read differently here.
    if (!VALUE_TYPES.has(byte)) refuseType(byte, 'a value type', at);
    if (byte === V128) this.#require('simd', at);
    this.next = at + 1;
    return byte;
  }

  #require(feature: FeatureName, at: number): void {
    requireFeature(feature, at);
    this.#seen[CODE_FEATURES.indexOf(feature)] = 1;
  }

  #readLong(at: number, first: number): number {
    let value = first & 0x7f;
    for (let index = 1; index < 5; index += 1) {
      const byte = this.bytes[at + index] ?? 0x80;
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (byte < 0x80) {
        this.next = at + index + 1;
        if (value > 0xffff_ffff) break;
        return value;
      }
    }
    throw malformed('number: it does not end, expected at most 32 bits', at);
  }

  #behindPrefix(prefix: number): number {
    const code = this.readIndex(this.next);
    if (prefix === MISC_PREFIX) return code < 256 ? MISC_BASE + code : this.#refuse(MISC_BASE + 255);
    return code < 256 ? VECTOR_BASE + code : this.#refuse(VECTOR_BASE + code);
  }

  /** Checks a code that occurs for the first time: it must be in the table, and its feature allowed. */
  #meet(byte: number): number {
    const isPrefix = byte === MISC_PREFIX || byte === VECTOR_PREFIX;
    const code = isPrefix ? this.#behindPrefix(byte) : byte;
    if (this.#met[code] === 1) return code;
    if (IMMEDIATE_OF[code] === 0) this.#refuse(code);
    const feature = FEATURE_OF[code] ?? 0;
    requireFeature(CODE_FEATURES[feature] ?? 'unknown', this.at);
    this.#seen[feature] = 1;
    this.#met[code] = 1;
    return code;
  }

  #refuse(code: number): never {
    const feature = refusedFeature(code);
    requireFeature(feature, this.at);
    throw new WasmError('feature', `Cannot read instruction: its feature "${feature}" is refused`, {
      offset: this.at,
      detail: feature,
    });
  }

  #readImmediate(follows: number): void {
    const at = this.next;
    switch (follows) {
      case IMMEDIATES.local:
      case IMMEDIATES.index:
      case IMMEDIATES.label:
      case IMMEDIATES.function:
        this.first = this.readIndex(at);
        return;
      case IMMEDIATES.memory:
        this.#readMemory(at);
        return;
      case IMMEDIATES.i32:
        this.#skipNumber(at, 5);
        return;
      case IMMEDIATES.i64:
        this.#skipNumber(at, 10);
        return;
      case IMMEDIATES.blockType:
        this.#readBlockType(at);
        return;
      default:
        this.#readRare(follows, at);
    }
  }

  #readRare(follows: number, at: number): void {
    switch (follows) {
      case IMMEDIATES.indirect:
      case IMMEDIATES.pair:
        this.first = this.readIndex(at);
        this.second = this.readIndex(this.next);
        return;
      case IMMEDIATES.labels:
        this.#readLabels(at);
        return;
      case IMMEDIATES.memoryLane:
        this.#readMemory(at);
        this.next += 1;
        return;
      case IMMEDIATES.f32:
        this.next = at + 4;
        return;
      case IMMEDIATES.f64:
        this.next = at + 8;
        return;
      case IMMEDIATES.bytes16:
        this.next = at + 16;
        return;
      case IMMEDIATES.lane:
        this.next = at + 1;
        return;
      case IMMEDIATES.referenceType:
        this.#readReferenceType(at);
        return;
      default:
        this.#readValueTypes(at);
    }
  }

  #readMemory(at: number): void {
    const alignment = this.readIndex(at);
    this.second = 0;
    if (alignment >= HAS_MEMORY) {
      requireFeature('multi-memory', this.at);
      this.second = this.readIndex(this.next);
    }
    this.#skipNumber(this.next, 10);
  }

  #readBlockType(at: number): void {
    const byte = this.bytes[at] ?? 0;
    if (byte < 0x40) {
      this.next = at + 1;
      this.first = byte;
      this.#require('multi-value', this.at);
      return;
    }
    this.first = byte < 0x80 ? this.#readShortBlockType(byte, at) : this.#readLongBlockType(at);
  }

  /** Nothing or a value type: one byte that is a number below zero. */
  #readShortBlockType(byte: number, at: number): number {
    if (byte === NOTHING) this.next = at + 1;
    else this.readValueType(at);
    return -byte;
  }

  /** A type index of several bytes. V8 also accepts one-byte types in this form; this walker does not. */
  #readLongBlockType(at: number): number {
    const value = this.readIndex(at);
    const isNegative = ((this.bytes[this.next - 1] ?? 0) & 0x40) !== 0;
    // Boundary: the same bytes must mean the same here and in V8.
    if (isNegative)
      throw malformed('block type: it is written in more bytes than it needs, expected one', at);
    this.#require('multi-value', this.at);
    return value;
  }

  #readLabels(at: number): void {
    const count = this.readIndex(at);
    // Boundary: a count larger than the bytes left cannot be true.
    if (count > this.end - this.next)
      throw malformed(`branch table: it has ${count} labels, expected fewer than bytes`, at);
    this.first = count;
    this.labelsAt = this.next;
    for (let left = count + 1; left > 0; left -= 1) {
      this.readIndex(this.next);
      if (this.next > this.end) throw this.#short();
    }
  }

  #readReferenceType(at: number): void {
    const byte = this.bytes[at] ?? 0;
    if (byte !== FUNCREF && byte !== EXTERNREF) refuseType(byte, 'a reference type', at);
    this.next = at + 1;
  }

  #readValueTypes(at: number): void {
    const count = this.readIndex(at);
    if (count !== 1) throw malformed(`select: it has ${count} types, expected one`, at);
    this.readValueType(this.next);
  }

  #skipNumber(at: number, most: number): void {
    for (let index = at; index < at + most; index += 1) {
      if ((this.bytes[index] ?? 0x80) < 0x80) {
        this.next = index + 1;
        return;
      }
    }
    throw malformed(`number: it does not end, expected at most ${most} bytes`, at);
  }

  #short(): WasmError {
    return malformed('function: it ends in the middle, expected an "end"', Math.min(this.at, this.end));
  }
}

function malformed(what: string, offset: number): WasmError {
  return new WasmError('malformed', `Cannot read ${what}`, { offset });
}
