/** Changes operators of one function and keeps all sizes right, so that the module gets as far as the rewriter. */
import { op } from '../fixture/builder.ts';
import { unsigned } from '../fixture/leb.ts';
import { type Immediate, OPERATORS, type Operator } from '../fixture/opcodes.ts';
import { bodiesIn, codeSection, concat, numberAt, numberEnd, type Span, withBody } from './layout.ts';
import type { Random } from './random.ts';
import { immediatesAt, instructionEnd, operatorIn } from './skip.ts';

type Code = {
  readonly bytes: Uint8Array;
  readonly starts: readonly number[];
  readonly operators: readonly Operator[];
};

/** Operators that fit in each other's place: the same immediates and types, or at least the same immediates. */
const alike = groupBy(({ immediate, pops, pushes, plain }) =>
  plain ? `${immediate} ${pops}:${pushes}` : immediate,
);
const similar = groupBy(({ immediate }) => immediate);
const WRAPS: readonly (readonly [readonly number[], readonly number[]])[] = [
  [op('block', undefined), op('end')],
  [op('loop', undefined), op('end')],
  [[...op('i32.const', 1), ...op('if', undefined)], op('end')],
  [
    [...op('i32.const', 0), ...op('if', undefined)],
    [...op('else'), ...op('end')],
  ],
];
const INSERTED: readonly (readonly number[])[] = [
  op('nop'),
  op('unreachable'),
  op('return'),
  op('drop'),
  op('br', 0),
  [...op('i32.const', 1), ...op('br_if', 0)],
  [...op('i32.const', 2), ...op('br_table', 0, 0)],
  [...op('i32.const', 1), ...op('memory.grow', 0), ...op('drop')],
  op('call', 0),
  op('return_call', 0),
];

function groupBy(keyOf: (operator: Operator) => string) {
  const groups = new Map<string, Operator[]>();
  for (const operator of OPERATORS)
    groups.set(keyOf(operator), [...(groups.get(keyOf(operator)) ?? []), operator]);
  return (operator: Operator) => groups.get(keyOf(operator)) ?? [operator];
}

/** Changes one operator, or a few next to each other, of one function. */
export function mutateCode(random: Random, bytes: Uint8Array, other: Uint8Array): Uint8Array {
  const section = codeSection(bytes);
  const bodies = section === undefined ? [] : bodiesIn(bytes, section);
  if (section === undefined || bodies.length === 0) return bytes;
  const body = random.pick(bodies);
  const code = instructionsOf(bytes, body);
  if (code.starts.length === 0) return bytes;
  const changed = random.below(12) === 0 ? changeLocals(random, bytes, body) : change(random, code, other);
  return withBody(bytes, section, body, changed);
}

/** The places of the instructions of a body; up to where it makes no sense. */
function instructionsOf(bytes: Uint8Array, body: Span): Code {
  const whole = bytes.subarray(body.start, body.end);
  let at = numberEnd(whole, 0);
  for (let runs = numberAt(whole, 0); runs > 0 && at < whole.length; runs -= 1) at = numberEnd(whole, at) + 1;
  const starts: number[] = [];
  const operators: Operator[] = [];
  // What comes before an operator that is not in the table can be changed all the same.
  for (
    let operator = operatorIn(whole, at);
    operator && at < whole.length;
    operator = operatorIn(whole, at)
  ) {
    starts.push(at);
    operators.push(operator);
    at = instructionEnd(whole, at, operator);
  }
  return { bytes: whole, starts, operators };
}

function change(random: Random, code: Code, other: Uint8Array): Uint8Array {
  const { bytes, starts, operators } = code;
  const at = random.below(starts.length);
  const start = starts[at] ?? 0;
  const end = starts[at + 1] ?? bytes.length;
  const far = starts[at + 1 + random.below(6)] ?? end;
  const before = bytes.subarray(0, start);
  const operator = operators[at];
  switch (random.below(16)) {
    case 0:
      return concat([before, bytes.subarray(end)]);
    case 1:
      return concat([before, bytes.subarray(start, far), bytes.subarray(start)]);
    case 2:
      return concat([before, random.pick(INSERTED), bytes.subarray(start)]);
    case 3: {
      const [open, close] = random.pick(WRAPS);
      return concat([before, open, bytes.subarray(start, far), close, bytes.subarray(far)]);
    }
    case 4:
      return concat([before, instructionsFrom(random, other), bytes.subarray(start)]);
    case 5:
      return concat([
        before,
        ...changedImmediate(random, bytes.subarray(start, end), operator?.immediate),
        bytes.subarray(end),
      ]);
    default:
      return concat([
        before,
        ...substitute(random, bytes.subarray(start, end), operator),
        bytes.subarray(end),
      ]);
  }
}

function substitute(
  random: Random,
  instruction: Uint8Array,
  operator: Operator | undefined,
): ArrayLike<number>[] {
  if (operator === undefined) return [instruction];
  const { prefix, code } = random.pick((random.below(8) > 0 ? alike : similar)(operator));
  const head = prefix === undefined ? [code] : [prefix, ...unsigned(code)];
  return [head, instruction.subarray(immediatesAt(instruction, 0, operator))];
}

function changedImmediate(
  random: Random,
  instruction: Uint8Array,
  immediate: Immediate | undefined,
): ArrayLike<number>[] {
  if (instruction.length < 2 || immediate === 'none') return [instruction];
  const copy = instruction.slice();
  const at = 1 + random.below(copy.length - 1);
  copy[at] = random.below(2) === 0 ? random.below(256) : ((copy[at] ?? 0) + random.below(3)) & 0x7f;
  return [copy];
}

/** A few instructions of a function of another module. */
function instructionsFrom(random: Random, other: Uint8Array): Uint8Array {
  const section = codeSection(other);
  const bodies = section === undefined ? [] : bodiesIn(other, section);
  if (bodies.length === 0) return new Uint8Array();
  const { bytes, starts } = instructionsOf(other, random.pick(bodies));
  if (starts.length === 0) return bytes.subarray(0, 0);
  const from = random.below(starts.length);
  return bytes.subarray(starts[from], starts[from + 1 + random.below(8)] ?? bytes.length);
}

/** More, fewer or other locals. */
function changeLocals(random: Random, bytes: Uint8Array, body: Span): Uint8Array {
  const whole = bytes.subarray(body.start, body.end);
  const runs = numberAt(whole, 0);
  const types = [0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f, 0x40];
  const run = [...unsigned(random.pick([0, 1, 3, 1000, 6000, 60_000])), random.pick(types)];
  return concat([unsigned(runs + 1), run, whole.subarray(numberEnd(whole, 0))]);
}
