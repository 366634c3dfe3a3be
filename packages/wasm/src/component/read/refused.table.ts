/** What the component model has and this linker refuses, by its byte. */

/** Types. */
export const REFUSED_TYPES: Readonly<Record<number, string>> = {
  67: 'async',
  62: 'async',
  63: 'resource definition',
  99: 'map',
  100: 'error-context',
  101: 'future',
  102: 'stream',
  103: 'list of fixed length',
};

/** Canonical functions. */
export const REFUSED_CANONS: Readonly<Record<number, string>> = {
  2: 'resource.new',
  4: 'resource.rep',
  5: 'task.cancel',
  6: 'subtask.cancel',
  7: 'resource.drop async',
  8: 'backpressure.set',
  9: 'task.return',
  10: 'context.get',
  11: 'context.set',
  12: 'thread.yield',
  13: 'subtask.drop',
  14: 'stream.new',
  15: 'stream.read',
  16: 'stream.write',
  17: 'stream.cancel-read',
  18: 'stream.cancel-write',
  19: 'stream.drop-readable',
  20: 'stream.drop-writable',
  21: 'future.new',
  22: 'future.read',
  23: 'future.write',
  24: 'future.cancel-read',
  25: 'future.cancel-write',
  26: 'future.drop-readable',
  27: 'future.drop-writable',
  28: 'error-context.new',
  29: 'error-context.debug-message',
  30: 'error-context.drop',
  31: 'waitable-set.new',
  32: 'waitable-set.wait',
  33: 'waitable-set.poll',
  34: 'waitable-set.drop',
  35: 'waitable.join',
  36: 'backpressure.inc',
  37: 'backpressure.dec',
  38: 'thread.index',
  39: 'thread.new-indirect',
  40: 'thread.switch-to',
  41: 'thread.suspend',
  42: 'thread.resume-later',
  43: 'thread.yield-to',
  64: 'thread.spawn-ref',
  65: 'thread.spawn-indirect',
  66: 'thread.available-parallelism',
};

/** Options of canonical functions. */
export const REFUSED_OPTIONS: Readonly<Record<number, string>> = {
  1: 'strings in UTF-16',
  2: 'strings in Latin-1',
  6: 'async',
  7: 'callback',
  8: 'core type',
  9: 'gc',
};

/** Sections. */
export const REFUSED_SECTIONS: Readonly<Record<number, string>> = {
  3: 'core type',
  9: 'start of a component',
  12: 'values',
};
