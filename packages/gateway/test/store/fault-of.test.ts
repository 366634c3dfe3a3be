import { describe, expect, it } from 'vitest';
import { storeErrorOf } from '../../src/store/fault-of.ts';

describe('storeErrorOf()', () => {
  it.each(['EMFILE', 'ENFILE'])('calls %s what it is, not damage and not a fault of ours', (code) => {
    const error = Object.assign(new Error('too many open files'), { code });
    expect(storeErrorOf(error, 'read "x"')).toMatchObject({
      code: 'store/unwritable',
      message: `Cannot read "x": too many files are open (${code})`,
    });
  });
});
