/** Steps over instructions without reading them: what the fuzzer needs of code, at the speed it needs it. */
import { OPERATORS, type Operator } from '../fixture/opcodes.ts';
import { numberEnd } from './layout.ts';

const PREFIXES = [undefined, 0xfc, 0xfd];
const tables = PREFIXES.map((prefix) => {
  const table: (Operator | undefined)[] = new Array(256).fill(undefined);
  for (const operator of OPERATORS) if (operator.prefix === prefix) table[operator.code] = operator;
  return table;
});

/** The operator whose code starts here; undefined for what is not in the table. */
export function operatorIn(bytes: Uint8Array, at: number): Operator | undefined {
  const first = bytes[at] ?? 0;
  const table = tables[first === 0xfc ? 1 : first === 0xfd ? 2 : 0];
  if (first !== 0xfc && first !== 0xfd) return table?.[first];
  const low = bytes[at + 1] ?? 0;
  return table?.[low < 0x80 ? low : (low & 0x7f) + (bytes[at + 2] ?? 0) * 0x80];
}

/** Where the immediates of an operator start. */
export function immediatesAt(bytes: Uint8Array, at: number, { prefix }: Operator): number {
  return prefix === undefined ? at + 1 : numberEnd(bytes, at + 1);
}

/** Where the instruction that starts here ends. */
export function instructionEnd(bytes: Uint8Array, at: number, operator: Operator): number {
  const start = immediatesAt(bytes, at, operator);
  switch (operator.immediate) {
    case 'none':
      return start;
    case 'heap':
    case 'lane':
      return start + 1;
    case 'index':
    case 'block':
    case 'i32':
      return numberEnd(bytes, start);
    case 'i64':
      return longEnd(bytes, start);
    case 'index index':
      return numberEnd(bytes, numberEnd(bytes, start));
    case 'f32':
      return start + 4;
    case 'f64':
      return start + 8;
    case 'bytes16':
      return start + 16;
    case 'types':
      return start + 1 + (bytes[start] ?? 0);
    case 'labels': {
      let end = numberEnd(bytes, start);
      for (let left = (bytes[start] ?? 0) + 1; left > 0; left -= 1) end = numberEnd(bytes, end);
      return end;
    }
    default: {
      const memory = numberEnd(bytes, start);
      const offset = (bytes[start] ?? 0) & 0x40 ? numberEnd(bytes, memory) : memory;
      return numberEnd(bytes, offset) + (operator.immediate === 'memory' ? 0 : 1);
    }
  }
}

function longEnd(bytes: Uint8Array, at: number): number {
  let next = at;
  while (next < at + 9 && (bytes[next] ?? 0) >= 0x80) next += 1;
  return next + 1;
}
