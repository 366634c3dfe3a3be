/** A small assembler for the classic BPF of seccomp: steps with labels in, the kernel's bytes out. */

/** How a jump tests the loaded word. */
export type Test = 'equal' | 'at-least' | 'any-bit';

export type Step =
  /** Loads the word at this offset of struct seccomp_data, keeps only these bits of it, or ends with this answer. */
  | { readonly kind: 'load' | 'keep' | 'return'; readonly value: number }
  /** Continues at a label; null is the next step. */
  | {
      readonly kind: 'jump';
      readonly test: Test;
      readonly value: number;
      readonly yes: string | null;
      readonly no: string | null;
    }
  /** Labels the step that follows. It takes no space in the program. */
  | { readonly kind: 'place'; readonly name: string };

type Instruction = Exclude<Step, { kind: 'place' }>;

/** BPF_MAXINSNS. */
export const MAX_INSTRUCTIONS = 4096;

/** The kernel keeps the distance of a conditional jump in one byte. */
const MAX_DISTANCE = 255;

const INSTRUCTION_BYTES = 8;

/**
 * Only opcodes that the kernel can evaluate in advance: it tries every number when a program is installed, and numbers
 * that are allowed whatever their arguments then never reach the program again.
 */
const CODES = {
  load: 0x20,
  keep: 0x54,
  return: 0x06,
  equal: 0x15,
  'at-least': 0x35,
  'any-bit': 0x45,
} as const;

/** Returns an array of struct sock_filter, little-endian. What the kernel would refuse is refused here with reasons. */
export function assemble(steps: readonly Step[]): Uint8Array {
  const { instructions, places } = layOut(steps);
  if (instructions.length === 0 || instructions.length > MAX_INSTRUCTIONS) {
    const what = `it has ${instructions.length} instructions`;
    throw new RangeError(`Cannot assemble program: ${what}, expected 1 to ${MAX_INSTRUCTIONS}`);
  }
  if (instructions.at(-1)?.kind !== 'return') {
    throw new RangeError('Cannot assemble program: its end is open, expected a return as the last step');
  }
  const bytes = new Uint8Array(instructions.length * INSTRUCTION_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, instruction] of instructions.entries()) {
    const { code, yes, no, value } = encode(instruction, index, places);
    view.setUint16(index * INSTRUCTION_BYTES, code, true);
    view.setUint8(index * INSTRUCTION_BYTES + 2, yes);
    view.setUint8(index * INSTRUCTION_BYTES + 3, no);
    view.setUint32(index * INSTRUCTION_BYTES + 4, value, true);
  }
  return bytes;
}

function layOut(steps: readonly Step[]) {
  const instructions: Instruction[] = [];
  const places = new Map<string, number>();
  for (const step of steps) {
    if (step.kind !== 'place') {
      instructions.push(step);
      continue;
    }
    if (places.has(step.name)) {
      throw new RangeError(`Cannot assemble program: "${step.name}" is named twice, expected it once`);
    }
    places.set(step.name, instructions.length);
  }
  return { instructions, places };
}

function encode(instruction: Instruction, index: number, places: ReadonlyMap<string, number>) {
  const value = word(instruction.value);
  if (instruction.kind !== 'jump') return { code: CODES[instruction.kind], yes: 0, no: 0, value };
  const { test, yes, no } = instruction;
  return { code: CODES[test], yes: distance(yes, index, places), no: distance(no, index, places), value };
}

function distance(name: string | null, index: number, places: ReadonlyMap<string, number>): number {
  if (name === null) return 0;
  const target = places.get(name);
  if (target === undefined) {
    throw new RangeError(`Cannot assemble program: nothing is named "${name}", expected a place`);
  }
  const steps = target - index - 1;
  if (steps < 0 || steps > MAX_DISTANCE) {
    const what = `"${name}" is ${steps} instructions ahead of a jump`;
    throw new RangeError(`Cannot assemble program: ${what}, expected 0 to ${MAX_DISTANCE}`);
  }
  return steps;
}

function word(value: number): number {
  if (value >>> 0 === value) return value;
  throw new RangeError(
    `Cannot assemble program: ${value} is not an operand, expected an unsigned 32-bit number`,
  );
}
