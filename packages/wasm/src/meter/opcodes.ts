/** The instruction table as arrays that a hot loop can index. Codes: 0–255 plain, 256 + n after 0xfc, 512 + n after 0xfd. */
import { BY_LENGTH, DEAR, FREE, OPERATOR, VALUES_OF_TRUNCATION } from '../costs.table.ts';
import type { FeatureName } from '../features.table.ts';
import {
  type Block,
  IMMEDIATES,
  LOOSE_NANS,
  MISC,
  PLAIN,
  REFUSED,
  REFUSED_MISC,
  REFUSED_VECTOR,
  VECTOR,
} from '../instructions.table.ts';

export const MISC_PREFIX = 0xfc;
export const VECTOR_PREFIX = 0xfd;
export const MISC_BASE = 256;
export const VECTOR_BASE = 512;
const CODES = VECTOR_BASE + 256;

/** The features that instructions belong to. */
export const CODE_FEATURES: readonly FeatureName[] = [
  ...new Set([...PLAIN, ...MISC, ...VECTOR].map((block) => block.feature)),
];

/** The code of each instruction by name. */
export const CODE_OF: ReadonlyMap<string, number> = new Map([
  ...codesOf(PLAIN, 0),
  ...codesOf(MISC, MISC_BASE),
  ...codesOf(VECTOR, VECTOR_BASE),
]);

/** What follows the opcode; 0 for a code that does not exist. */
export const IMMEDIATE_OF = fill(new Uint8Array(CODES), (_name, [, follows]) => IMMEDIATES[follows]);

/** By how much the operand stack grows. */
export const CHANGE_OF = fill(new Int8Array(CODES), (_name, [, , change]) => change);

/** The fuel of the instruction; the base fuel of one that pays by length. */
export const COST_OF = fill(new Uint16Array(CODES), (name) => costOf(name));

/** How many values V8 may keep of what the instruction computes. */
export const VALUES_OF = fill(new Uint8Array(CODES), (name) => valuesOf(name));

/** An index of CODE_FEATURES. */
export const FEATURE_OF = fill(new Uint8Array(CODES), (_name, _run, feature) =>
  CODE_FEATURES.indexOf(feature),
);

/** 1–4 for an instruction whose NaN bits are not specified: f32, f64, f32x4, f64x2. */
export const NAN_OF = fill(new Uint8Array(CODES), (name) => looseNan(name));

const SPECIAL = new Set(['global.get', 'memory.grow', 'ref.func', 'table.set'].map((name) => codeOf(name)));

/** What the passes distinguish: most operators are only counted. */
export const ROLES = { plain: 0, control: 1, local: 2, special: 3, vector: 4 } as const;

/** By code: one of ROLES. An operator with unspecified NaN bits is special, or a vector. */
export const ROLE_OF: Uint8Array = new Uint8Array(CODES).map((_none, code) => roleOf(code));

const BY_LENGTH_CODES = new Set(Object.keys(BY_LENGTH).map((name) => codeOf(name)));

/** Whether the work of the instruction grows with an operand. */
export function isByLength(code: number): boolean {
  return BY_LENGTH_CODES.has(code);
}

const LASTING_CODES = new Set(
  ['table.set', 'table.grow', 'table.fill', 'table.copy', 'table.init', 'elem.drop', 'data.drop'].map(
    (name) => codeOf(name),
  ),
);

/** Whether the instruction changes a table or drops a segment: only a new instance restores those. */
export function isLasting(code: number): boolean {
  return LASTING_CODES.has(code);
}

/** The code of an instruction of the table. */
export function codeOf(name: string): number {
  const code = CODE_OF.get(name);
  if (code === undefined) throw new TypeError(`Cannot find instruction: "${name}" is not in the table`);
  return code;
}

/** The proposal that an unknown code belongs to. */
export function refusedFeature(code: number): FeatureName {
  const rows = code < MISC_BASE ? REFUSED : code < VECTOR_BASE ? REFUSED_MISC : REFUSED_VECTOR;
  const base = code < MISC_BASE ? 0 : code < VECTOR_BASE ? MISC_BASE : VECTOR_BASE;
  return rows.find(([first, last]) => code - base >= first && code - base <= last)?.[2] ?? 'unknown';
}

function roleOf(code: number): number {
  if (code <= codeOf('return_call_indirect')) return ROLES.control;
  if (code >= VECTOR_BASE) return ROLES.vector;
  if (code >= codeOf('local.get') && code <= codeOf('local.tee')) return ROLES.local;
  const isSpecial = code >= MISC_BASE || SPECIAL.has(code) || (NAN_OF[code] ?? 0) > 0;
  return isSpecial ? ROLES.special : ROLES.plain;
}

function codesOf(blocks: readonly Block[], base: number): [string, number][] {
  const runs = blocks.flatMap((block) => block.runs);
  return runs.flatMap(([first, , , names]) =>
    names
      .split(' ')
      .map((name, index): [string, number] => [name, base + first + index])
      .filter(([name]) => name !== '-'),
  );
}

type Row = readonly [first: number, follows: keyof typeof IMMEDIATES, change: number, names: string];

function fill<T extends Uint8Array | Int8Array | Uint16Array>(
  array: T,
  value: (name: string, run: Row, feature: FeatureName) => number,
): T {
  for (const [blocks, base] of [
    [PLAIN, 0] as const,
    [MISC, MISC_BASE] as const,
    [VECTOR, VECTOR_BASE] as const,
  ]) {
    for (const { feature, runs } of blocks) {
      for (const run of runs) {
        run[3].split(' ').forEach((name, index) => {
          if (name !== '-') array[base + run[0] + index] = value(name, run, feature);
        });
      }
    }
  }
  return array;
}

function costOf(name: string): number {
  if (FREE.split(' ').includes(name)) return 0;
  const dear = Object.entries(DEAR).find(([each]) => each === name)?.[1];
  return dear ?? Object.entries(BY_LENGTH).find(([each]) => each === name)?.[1].base ?? OPERATOR;
}

function valuesOf(name: string): number {
  if (/^(i32|i64|f32|f64)\.const$|^local\./.test(name)) return 0;
  return /^i(32|64)\.trunc_/.test(name) ? VALUES_OF_TRUNCATION : 1;
}

function looseNan(name: string): number {
  return Object.values(LOOSE_NANS).findIndex((names) => names.split(' ').includes(name)) + 1;
}
