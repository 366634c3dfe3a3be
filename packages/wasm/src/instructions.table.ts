/**
 * Every instruction the meter knows: its bytes, what follows them, how it changes the height of the operand stack and
 * the feature it belongs to. What is not here is refused: an opcode of a known proposal by the proposal's name, any
 * other as unknown.
 */
import type { FeatureName } from './features.table.ts';

/** What follows an opcode. */
export const IMMEDIATES = {
  none: 1,
  blockType: 2,
  /** One index or count that the scanner ignores. */
  index: 3,
  label: 4,
  labels: 5,
  function: 6,
  /** A type and a table. */
  indirect: 7,
  local: 8,
  /** Two indices. */
  pair: 9,
  /** Alignment, perhaps a memory, and an offset. */
  memory: 10,
  /** The same, and a lane. */
  memoryLane: 11,
  i32: 12,
  i64: 13,
  f32: 14,
  f64: 15,
  lane: 16,
  bytes16: 17,
  valueTypes: 18,
  referenceType: 19,
  prefix: 20,
} as const;

export type Immediate = keyof typeof IMMEDIATES;

/**
 * A run of consecutive opcodes: the first one, what follows each, the change of height, their names. `-` is a gap.
 * A change that depends on a type is written as 0 and worked out by the scanner.
 */
export type Run = readonly [first: number, follows: Immediate, change: number, names: string];

export type Block = { readonly feature: FeatureName; readonly runs: readonly Run[] };

/** Instructions of one byte. */
export const PLAIN: readonly Block[] = [
  {
    feature: 'mvp',
    runs: [
      [0x00, 'none', 0, 'unreachable nop'],
      [0x02, 'blockType', 0, 'block loop'],
      [0x04, 'blockType', -1, 'if'],
      [0x05, 'none', 0, 'else'],
      [0x0b, 'none', 0, 'end'],
      [0x0c, 'label', 0, 'br'],
      [0x0d, 'label', -1, 'br_if'],
      [0x0e, 'labels', -1, 'br_table'],
      [0x0f, 'none', 0, 'return'],
      [0x10, 'function', 0, 'call'],
      [0x11, 'indirect', -1, 'call_indirect'],
      [0x1a, 'none', -1, 'drop'],
      [0x1b, 'none', -2, 'select'],
      [0x20, 'local', 1, 'local.get'],
      [0x21, 'local', -1, 'local.set'],
      [0x22, 'local', 0, 'local.tee'],
      [0x23, 'index', 1, 'global.get'],
      [0x24, 'index', -1, 'global.set'],
      [0x28, 'memory', 0, 'i32.load i64.load f32.load f64.load'],
      [0x2c, 'memory', 0, 'i32.load8_s i32.load8_u i32.load16_s i32.load16_u'],
      [0x30, 'memory', 0, 'i64.load8_s i64.load8_u i64.load16_s i64.load16_u i64.load32_s i64.load32_u'],
      [0x36, 'memory', -2, 'i32.store i64.store f32.store f64.store i32.store8 i32.store16'],
      [0x3c, 'memory', -2, 'i64.store8 i64.store16 i64.store32'],
      [0x3f, 'index', 1, 'memory.size'],
      [0x40, 'index', 0, 'memory.grow'],
      [0x41, 'i32', 1, 'i32.const'],
      [0x42, 'i64', 1, 'i64.const'],
      [0x43, 'f32', 1, 'f32.const'],
      [0x44, 'f64', 1, 'f64.const'],
      [0x45, 'none', 0, 'i32.eqz'],
      [
        0x46,
        'none',
        -1,
        'i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u i32.ge_s i32.ge_u',
      ],
      [0x50, 'none', 0, 'i64.eqz'],
      [
        0x51,
        'none',
        -1,
        'i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u i64.le_s i64.le_u i64.ge_s i64.ge_u',
      ],
      [0x5b, 'none', -1, 'f32.eq f32.ne f32.lt f32.gt f32.le f32.ge'],
      [0x61, 'none', -1, 'f64.eq f64.ne f64.lt f64.gt f64.le f64.ge'],
      [0x67, 'none', 0, 'i32.clz i32.ctz i32.popcnt'],
      [
        0x6a,
        'none',
        -1,
        'i32.add i32.sub i32.mul i32.div_s i32.div_u i32.rem_s i32.rem_u i32.and i32.or i32.xor',
      ],
      [0x74, 'none', -1, 'i32.shl i32.shr_s i32.shr_u i32.rotl i32.rotr'],
      [0x79, 'none', 0, 'i64.clz i64.ctz i64.popcnt'],
      [
        0x7c,
        'none',
        -1,
        'i64.add i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u i64.and i64.or i64.xor',
      ],
      [0x86, 'none', -1, 'i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr'],
      [0x8b, 'none', 0, 'f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt'],
      [0x92, 'none', -1, 'f32.add f32.sub f32.mul f32.div f32.min f32.max f32.copysign'],
      [0x99, 'none', 0, 'f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt'],
      [0xa0, 'none', -1, 'f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign'],
      [0xa7, 'none', 0, 'i32.wrap_i64 i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u'],
      [0xac, 'none', 0, 'i64.extend_i32_s i64.extend_i32_u'],
      [0xae, 'none', 0, 'i64.trunc_f32_s i64.trunc_f32_u i64.trunc_f64_s i64.trunc_f64_u'],
      [
        0xb2,
        'none',
        0,
        'f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s f32.convert_i64_u f32.demote_f64',
      ],
      [
        0xb7,
        'none',
        0,
        'f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s f64.convert_i64_u f64.promote_f32',
      ],
      [0xbc, 'none', 0, 'i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64'],
      [0xfc, 'prefix', 0, 'misc vector'],
    ],
  },
  {
    feature: 'tail-calls',
    runs: [
      [0x12, 'function', 0, 'return_call'],
      [0x13, 'indirect', -1, 'return_call_indirect'],
    ],
  },
  {
    feature: 'sign-extension',
    runs: [[0xc0, 'none', 0, 'i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s']],
  },
  {
    feature: 'reference-types',
    runs: [
      [0x1c, 'valueTypes', -2, 'select_typed'],
      [0x25, 'index', 0, 'table.get'],
      [0x26, 'index', -2, 'table.set'],
      [0xd0, 'referenceType', 1, 'ref.null'],
      [0xd1, 'none', 0, 'ref.is_null'],
      [0xd2, 'function', 1, 'ref.func'],
    ],
  },
];

/** Instructions after the byte 0xfc. */
export const MISC: readonly Block[] = [
  {
    feature: 'non-trapping-conversions',
    runs: [
      [0, 'none', 0, 'i32.trunc_sat_f32_s i32.trunc_sat_f32_u i32.trunc_sat_f64_s i32.trunc_sat_f64_u'],
      [4, 'none', 0, 'i64.trunc_sat_f32_s i64.trunc_sat_f32_u i64.trunc_sat_f64_s i64.trunc_sat_f64_u'],
    ],
  },
  {
    feature: 'bulk-memory',
    runs: [
      [8, 'pair', -3, 'memory.init'],
      [9, 'index', 0, 'data.drop'],
      [10, 'pair', -3, 'memory.copy'],
      [11, 'index', -3, 'memory.fill'],
      [12, 'pair', -3, 'table.init'],
      [13, 'index', 0, 'elem.drop'],
      [14, 'pair', -3, 'table.copy'],
    ],
  },
  {
    feature: 'reference-types',
    runs: [
      [15, 'index', -1, 'table.grow'],
      [16, 'index', 1, 'table.size'],
      [17, 'index', -3, 'table.fill'],
    ],
  },
];

/** Instructions after the byte 0xfd. */
export const VECTOR: readonly Block[] = [
  {
    feature: 'simd',
    runs: [
      [0, 'memory', 0, 'v128.load v128.load8x8_s v128.load8x8_u v128.load16x4_s v128.load16x4_u'],
      [5, 'memory', 0, 'v128.load32x2_s v128.load32x2_u v128.load8_splat v128.load16_splat'],
      [9, 'memory', 0, 'v128.load32_splat v128.load64_splat'],
      [11, 'memory', -2, 'v128.store'],
      [12, 'bytes16', 1, 'v128.const'],
      [13, 'bytes16', -1, 'i8x16.shuffle'],
      [14, 'none', -1, 'i8x16.swizzle'],
      [15, 'none', 0, 'i8x16.splat i16x8.splat i32x4.splat i64x2.splat f32x4.splat f64x2.splat'],
      [21, 'lane', 0, 'i8x16.extract_lane_s i8x16.extract_lane_u'],
      [23, 'lane', -1, 'i8x16.replace_lane'],
      [24, 'lane', 0, 'i16x8.extract_lane_s i16x8.extract_lane_u'],
      [26, 'lane', -1, 'i16x8.replace_lane'],
      [27, 'lane', 0, 'i32x4.extract_lane'],
      [28, 'lane', -1, 'i32x4.replace_lane'],
      [29, 'lane', 0, 'i64x2.extract_lane'],
      [30, 'lane', -1, 'i64x2.replace_lane'],
      [31, 'lane', 0, 'f32x4.extract_lane'],
      [32, 'lane', -1, 'f32x4.replace_lane'],
      [33, 'lane', 0, 'f64x2.extract_lane'],
      [34, 'lane', -1, 'f64x2.replace_lane'],
      [35, 'none', -1, 'i8x16.eq i8x16.ne i8x16.lt_s i8x16.lt_u i8x16.gt_s i8x16.gt_u'],
      [41, 'none', -1, 'i8x16.le_s i8x16.le_u i8x16.ge_s i8x16.ge_u'],
      [45, 'none', -1, 'i16x8.eq i16x8.ne i16x8.lt_s i16x8.lt_u i16x8.gt_s i16x8.gt_u'],
      [51, 'none', -1, 'i16x8.le_s i16x8.le_u i16x8.ge_s i16x8.ge_u'],
      [55, 'none', -1, 'i32x4.eq i32x4.ne i32x4.lt_s i32x4.lt_u i32x4.gt_s i32x4.gt_u'],
      [61, 'none', -1, 'i32x4.le_s i32x4.le_u i32x4.ge_s i32x4.ge_u'],
      [65, 'none', -1, 'f32x4.eq f32x4.ne f32x4.lt f32x4.gt f32x4.le f32x4.ge'],
      [71, 'none', -1, 'f64x2.eq f64x2.ne f64x2.lt f64x2.gt f64x2.le f64x2.ge'],
      [77, 'none', 0, 'v128.not'],
      [78, 'none', -1, 'v128.and v128.andnot v128.or v128.xor'],
      [82, 'none', -2, 'v128.bitselect'],
      [83, 'none', 0, 'v128.any_true'],
      [84, 'memoryLane', -1, 'v128.load8_lane v128.load16_lane v128.load32_lane v128.load64_lane'],
      [88, 'memoryLane', -2, 'v128.store8_lane v128.store16_lane v128.store32_lane v128.store64_lane'],
      [92, 'memory', 0, 'v128.load32_zero v128.load64_zero'],
      [94, 'none', 0, 'f32x4.demote_f64x2_zero f64x2.promote_low_f32x4'],
      [96, 'none', 0, 'i8x16.abs i8x16.neg i8x16.popcnt i8x16.all_true i8x16.bitmask'],
      [101, 'none', -1, 'i8x16.narrow_i16x8_s i8x16.narrow_i16x8_u'],
      [103, 'none', 0, 'f32x4.ceil f32x4.floor f32x4.trunc f32x4.nearest'],
      [107, 'none', -1, 'i8x16.shl i8x16.shr_s i8x16.shr_u i8x16.add i8x16.add_sat_s i8x16.add_sat_u'],
      [113, 'none', -1, 'i8x16.sub i8x16.sub_sat_s i8x16.sub_sat_u'],
      [116, 'none', 0, 'f64x2.ceil f64x2.floor'],
      [118, 'none', -1, 'i8x16.min_s i8x16.min_u i8x16.max_s i8x16.max_u'],
      [122, 'none', 0, 'f64x2.trunc'],
      [123, 'none', -1, 'i8x16.avgr_u'],
      [124, 'none', 0, 'i16x8.extadd_pairwise_i8x16_s i16x8.extadd_pairwise_i8x16_u'],
      [126, 'none', 0, 'i32x4.extadd_pairwise_i16x8_s i32x4.extadd_pairwise_i16x8_u'],
      [128, 'none', 0, 'i16x8.abs i16x8.neg'],
      [130, 'none', -1, 'i16x8.q15mulr_sat_s'],
      [131, 'none', 0, 'i16x8.all_true i16x8.bitmask'],
      [133, 'none', -1, 'i16x8.narrow_i32x4_s i16x8.narrow_i32x4_u'],
      [135, 'none', 0, 'i16x8.extend_low_i8x16_s i16x8.extend_high_i8x16_s'],
      [137, 'none', 0, 'i16x8.extend_low_i8x16_u i16x8.extend_high_i8x16_u'],
      [139, 'none', -1, 'i16x8.shl i16x8.shr_s i16x8.shr_u i16x8.add i16x8.add_sat_s i16x8.add_sat_u'],
      [145, 'none', -1, 'i16x8.sub i16x8.sub_sat_s i16x8.sub_sat_u'],
      [148, 'none', 0, 'f64x2.nearest'],
      [149, 'none', -1, 'i16x8.mul i16x8.min_s i16x8.min_u i16x8.max_s i16x8.max_u - i16x8.avgr_u'],
      [156, 'none', -1, 'i16x8.extmul_low_i8x16_s i16x8.extmul_high_i8x16_s'],
      [158, 'none', -1, 'i16x8.extmul_low_i8x16_u i16x8.extmul_high_i8x16_u'],
      [160, 'none', 0, 'i32x4.abs i32x4.neg - i32x4.all_true i32x4.bitmask'],
      [167, 'none', 0, 'i32x4.extend_low_i16x8_s i32x4.extend_high_i16x8_s'],
      [169, 'none', 0, 'i32x4.extend_low_i16x8_u i32x4.extend_high_i16x8_u'],
      [171, 'none', -1, 'i32x4.shl i32x4.shr_s i32x4.shr_u i32x4.add - - i32x4.sub'],
      [181, 'none', -1, 'i32x4.mul i32x4.min_s i32x4.min_u i32x4.max_s i32x4.max_u i32x4.dot_i16x8_s'],
      [188, 'none', -1, 'i32x4.extmul_low_i16x8_s i32x4.extmul_high_i16x8_s'],
      [190, 'none', -1, 'i32x4.extmul_low_i16x8_u i32x4.extmul_high_i16x8_u'],
      [192, 'none', 0, 'i64x2.abs i64x2.neg - i64x2.all_true i64x2.bitmask'],
      [199, 'none', 0, 'i64x2.extend_low_i32x4_s i64x2.extend_high_i32x4_s'],
      [201, 'none', 0, 'i64x2.extend_low_i32x4_u i64x2.extend_high_i32x4_u'],
      [203, 'none', -1, 'i64x2.shl i64x2.shr_s i64x2.shr_u i64x2.add - - i64x2.sub - - - i64x2.mul'],
      [214, 'none', -1, 'i64x2.eq i64x2.ne i64x2.lt_s i64x2.gt_s i64x2.le_s i64x2.ge_s'],
      [220, 'none', -1, 'i64x2.extmul_low_i32x4_s i64x2.extmul_high_i32x4_s'],
      [222, 'none', -1, 'i64x2.extmul_low_i32x4_u i64x2.extmul_high_i32x4_u'],
      [224, 'none', 0, 'f32x4.abs f32x4.neg - f32x4.sqrt'],
      [228, 'none', -1, 'f32x4.add f32x4.sub f32x4.mul f32x4.div f32x4.min f32x4.max f32x4.pmin f32x4.pmax'],
      [236, 'none', 0, 'f64x2.abs f64x2.neg - f64x2.sqrt'],
      [240, 'none', -1, 'f64x2.add f64x2.sub f64x2.mul f64x2.div f64x2.min f64x2.max f64x2.pmin f64x2.pmax'],
      [248, 'none', 0, 'i32x4.trunc_sat_f32x4_s i32x4.trunc_sat_f32x4_u'],
      [250, 'none', 0, 'f32x4.convert_i32x4_s f32x4.convert_i32x4_u'],
      [252, 'none', 0, 'i32x4.trunc_sat_f64x2_s_zero i32x4.trunc_sat_f64x2_u_zero'],
      [254, 'none', 0, 'f64x2.convert_low_i32x4_s f64x2.convert_low_i32x4_u'],
    ],
  },
];

/** Opcodes of proposals outside the gate: first, last, the proposal. */
export const REFUSED: readonly (readonly [first: number, last: number, feature: FeatureName])[] = [
  [0x06, 0x0a, 'exceptions'],
  [0x14, 0x17, 'function-references'],
  [0x18, 0x19, 'exceptions'],
  [0x1f, 0x1f, 'exceptions'],
  [0xd3, 0xd6, 'function-references'],
  [0xe0, 0xe6, 'stack-switching'],
  [0xfb, 0xfb, 'gc'],
  [0xfe, 0xfe, 'threads'],
];

/** The same behind 0xfc. */
export const REFUSED_MISC: typeof REFUSED = [[19, 22, 'wide-arithmetic']];

/** The same behind 0xfd. */
export const REFUSED_VECTOR: typeof REFUSED = [[0x100, 0x12f, 'relaxed-simd']];

/** Instructions whose result may be a NaN with bits that the specification leaves open, by the type of the result. */
export const LOOSE_NANS = {
  f32: 'f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt f32.add f32.sub f32.mul f32.div f32.min f32.max f32.demote_f64',
  f64: 'f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt f64.add f64.sub f64.mul f64.div f64.min f64.max f64.promote_f32',
  f32x4:
    'f32x4.ceil f32x4.floor f32x4.trunc f32x4.nearest f32x4.sqrt f32x4.add f32x4.sub f32x4.mul f32x4.div f32x4.min f32x4.max f32x4.demote_f64x2_zero',
  f64x2:
    'f64x2.ceil f64x2.floor f64x2.trunc f64x2.nearest f64x2.sqrt f64x2.add f64x2.sub f64x2.mul f64x2.div f64x2.min f64x2.max f64x2.promote_low_f32x4',
} as const;
