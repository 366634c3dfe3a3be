import { WasmError } from './error.ts';

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/** A module of one function without parameters and results, with a memory of one page, around `code`. */
function around(...code: number[]): number[] {
  const body = [0x00, ...code, 0x0b];
  return [
    ...HEADER,
    ...[0x01, 0x04, 0x01, 0x60, 0x00, 0x00],
    ...[0x03, 0x02, 0x01, 0x00],
    ...[0x05, 0x03, 0x01, 0x00, 0x01],
    ...[0x0a, body.length + 2, 0x01, body.length, ...body],
  ];
}

/**
 * The gate. What is not allowed here never reaches V8, and what is allowed has a probe, a tiny module that uses it: if
 * V8 rejects the probe, it does not get the module either, so the error names the feature on every version.
 */
export const FEATURES = [
  {
    name: 'mvp',
    allowed: true,
    sentence: 'The first version of WebAssembly.',
    probe: HEADER,
  },
  {
    name: 'mutable-globals',
    allowed: true,
    sentence: 'Imports and exports of mutable globals.',
    probe: [
      ...HEADER,
      0x06,
      0x06,
      0x01,
      0x7f,
      0x01,
      0x41,
      0x00,
      0x0b,
      0x07,
      0x05,
      0x01,
      0x01,
      0x67,
      0x03,
      0x00,
    ],
  },
  {
    name: 'sign-extension',
    allowed: true,
    sentence: 'Instructions that sign-extend a value in place.',
    probe: around(0x41, 0x00, 0xc0, 0x1a),
  },
  {
    name: 'non-trapping-conversions',
    allowed: true,
    sentence: 'Saturating conversions of floats to integers, which never trap.',
    probe: around(0x43, 0x00, 0x00, 0x00, 0x00, 0xfc, 0x00, 0x1a),
  },
  {
    name: 'bulk-memory',
    allowed: true,
    sentence: 'Copying and filling of memories and tables, and segments that are copied on demand.',
    probe: around(0x41, 0x00, 0x41, 0x00, 0x41, 0x00, 0xfc, 0x0b, 0x00),
  },
  {
    name: 'multi-value',
    allowed: true,
    sentence: 'Functions and blocks with several results, and blocks with parameters.',
    probe: [...HEADER, 0x01, 0x06, 0x01, 0x60, 0x00, 0x02, 0x7f, 0x7f],
  },
  {
    name: 'reference-types',
    allowed: true,
    sentence: 'References as values, several tables, and instructions that read and write tables.',
    probe: [
      ...HEADER,
      0x01,
      0x05,
      0x01,
      0x60,
      0x01,
      0x6f,
      0x00,
      0x04,
      0x07,
      0x02,
      0x70,
      0x00,
      0x00,
      0x6f,
      0x00,
      0x00,
    ],
  },
  {
    name: 'simd',
    allowed: true,
    sentence: 'Vectors of 128 bits, with the same result on every machine.',
    probe: [...HEADER, 0x01, 0x05, 0x01, 0x60, 0x01, 0x7b, 0x00],
  },
  {
    name: 'tail-calls',
    allowed: true,
    sentence: 'Calls in place of the calling function.',
    probe: around(0x12, 0x00),
  },
  {
    name: 'extended-constants',
    allowed: true,
    sentence: 'Addition, subtraction and multiplication in constant expressions.',
    probe: [...HEADER, 0x06, 0x09, 0x01, 0x7f, 0x00, 0x41, 0x01, 0x41, 0x01, 0x6a, 0x0b],
  },
  {
    name: 'multi-memory',
    allowed: true,
    sentence: 'More than one memory; the limit counts them all together.',
    probe: [...HEADER, 0x05, 0x05, 0x02, 0x00, 0x00, 0x00, 0x00],
  },
  {
    name: 'threads',
    allowed: false,
    sentence: 'Memory shared between threads: it is a clock, and it makes a run depend on another one.',
  },
  {
    name: 'shared-everything',
    allowed: false,
    sentence: 'Globals, tables and functions shared between threads, refused like shared memory.',
  },
  {
    name: 'exceptions',
    allowed: false,
    sentence: 'Throwing and catching: the meter does not follow control out of a function.',
  },
  {
    name: 'stack-switching',
    allowed: false,
    sentence: 'Continuations: the meter does not follow control between stacks.',
  },
  {
    name: 'gc',
    allowed: false,
    sentence: 'Structures and arrays on the heap of V8, where no limit of a module counts them.',
  },
  {
    name: 'function-references',
    allowed: false,
    sentence: 'Typed references to functions and calls through them, which the meter cannot tell apart.',
  },
  {
    name: 'stringref',
    allowed: false,
    sentence: 'Strings on the heap of V8, where no limit of a module counts them.',
  },
  {
    name: 'memory64',
    allowed: false,
    sentence: 'Memories and tables with addresses of 64 bits: none is needed below the ceiling of memory.',
  },
  {
    name: 'custom-page-sizes',
    allowed: false,
    sentence: 'Memories in pages of another size than 64 KiB, which the memory limit does not count.',
  },
  {
    name: 'relaxed-simd',
    allowed: false,
    sentence: 'Vector instructions whose result depends on the machine: a run could not be repeated.',
  },
  {
    name: 'wide-arithmetic',
    allowed: false,
    sentence: 'Arithmetic on pairs of 64-bit numbers; no stable V8 has it.',
  },
  {
    name: 'unknown',
    allowed: false,
    sentence: 'Everything that this version does not know by name.',
  },
] as const satisfies readonly Feature[];

export type Feature = {
  readonly name: string;
  readonly allowed: boolean;
  readonly sentence: string;
  /** A module that uses the feature. */
  readonly probe?: readonly number[];
};

export type FeatureName = (typeof FEATURES)[number]['name'];

const byName: ReadonlyMap<FeatureName, Feature> = new Map(FEATURES.map((row) => [row.name, row]));

/** V8's answers to the probes so far; they never change. */
const answers = new Map<FeatureName, boolean>();

/** Whether this V8 accepts the feature's probe; false if there is no probe. */
function v8Has(name: FeatureName): boolean {
  const known = answers.get(name);
  if (known !== undefined) return known;
  const probe = byName.get(name)?.probe;
  const answer = probe !== undefined && WebAssembly.validate(new Uint8Array(probe));
  answers.set(name, answer);
  return answer;
}

/** Whether the gate allows the feature and this V8 has it. */
export function isSupported(name: FeatureName): boolean {
  return byName.get(name)?.allowed === true && v8Has(name);
}

/** Refuses a module that uses a feature which the gate refuses or this V8 does not have. */
export function requireFeature(name: FeatureName, offset: number): void {
  // Boundary: the one gate that every feature of a module passes.
  if (byName.get(name)?.allowed !== true) {
    const message = `Cannot take module: it uses "${name}", expected only features that are allowed`;
    throw new WasmError('feature', message, { detail: name, offset });
  }
  if (!v8Has(name)) {
    const message = `Cannot take module: it uses "${name}", expected only features that this engine has`;
    throw new WasmError('feature', message, { detail: name, offset });
  }
}
