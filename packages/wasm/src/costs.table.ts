/**
 * What work costs, in fuel. One unit is one plain operator; everything that takes longer than a few operators pays by
 * its length. A change of a number here changes every count: raise METER_VERSION with it.
 */

/** Entering a function whose frame is of a usual size. */
export const ENTRY = 1;

/** Parameters, locals and results that entering a function pays for; beyond them, eight cost one unit more. */
export const USUAL_SLOTS = 64;

/** Entering a function with that many parameters, locals and results. */
export function entryFuel(slots: number): number {
  return ENTRY + (Math.max(0, slots - USUAL_SLOTS) >> 3);
}

/** An operator that is not named below. */
export const OPERATOR = 1;

/** Structure, and operators that V8 generates no code for. */
export const FREE = 'unreachable nop block loop else end drop return';

/** Operators that take as long as many plain ones: V8 makes an object for a function that is stored in a table. */
export const DEAR = { 'table.set': 32 } as const;

/**
 * Operators whose work grows with an operand: `base` units, and 2^shift units per byte, element or page.
 * Filling memory runs at about eight bytes in the time of an operator; V8 handles table elements one by one; a grow
 * is a call into V8's runtime, and each new page costs page faults later.
 */
export const BY_LENGTH = {
  'memory.fill': { base: 16, shift: -3 },
  'memory.copy': { base: 16, shift: -3 },
  'memory.init': { base: 16, shift: -3 },
  'memory.grow': { base: 512, shift: 10 },
  'table.fill': { base: 64, shift: 5 },
  'table.copy': { base: 64, shift: 5 },
  'table.init': { base: 64, shift: 5 },
  'table.grow': { base: 512, shift: 5 },
} as const;

export type LengthOperator = keyof typeof BY_LENGTH;

/** Bytes that the host copies for one unit, as `memory.copy` does. */
export const BYTES_PER_FUEL = 8;

/** The most work between two checks inside one activation of a function. */
export const MOST_UNCHECKED = 10_000;

/** The most work between a call and the next check or the end of the function. */
export const MOST_AFTER_CALL = 200;

/** A function without branches, loops or calls that costs no more than this is paid for by its callers. */
export const MOST_PREPAID = 64;

/** A function without loops or calls that costs no more than this in all is not checked at entry: its callers are. */
export const MOST_LIGHT = 250;

/** Functions of at most this many parameters, locals and results are light or prepaid: frames are not counted. */
export const MOST_LIGHT_SLOTS = 32;

/** Stack is counted in units of this many bytes. */
export const STACK_UNIT_BYTES = 32;

/** A frame of a function that calls nothing counts when it takes more than this. */
export const UNCOUNTED_FRAME_BYTES = 1024;

/** What a frame takes besides its locals and operands. */
export const FRAME_BYTES = 96;

/**
 * V8's optimiser may keep any operator's result on the stack, like a local; which ones cannot be predicted. This many
 * such values count as one slot of the frame, and the thread must have this many times the counted stack
 * (`threadStackBytes`).
 */
export const VALUES_PER_SLOT = 64;

/** V8 may inline other functions, the more the longer a function is: this many of its bytes count as one more value. */
export const BYTES_PER_VALUE = 4;

/** V8 stops inlining after some thousand bytes: no more bytes of a body than this count. */
export const MOST_BYTES_WITH_VALUES = 8192;

/** Values that V8 makes for a conversion that it has no instruction for. */
export const VALUES_OF_TRUNCATION = 4;

/** Additional values where a NaN is made canonical. */
export const VALUES_OF_NAN = 2;
