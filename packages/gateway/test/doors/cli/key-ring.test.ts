import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { trustedKeys } from '../../../src/doors/cli/nouns/verify.ts';
import type { Invocation } from '../../../src/doors/cli/verb.ts';
import { openTestRecords } from '../../journal/sample.ts';

/** What a verb is handed, on a state directory that must not be opened. */
function closedInvocation(path: string): Invocation {
  const openRecords = () => Promise.reject(new Error('Cannot open: expected to read the keys only'));
  return { flags: {}, stateDir: { path }, openRecords } as unknown as Invocation;
}

describe('trustedKeys()', () => {
  test('reads the keys of the state directory without opening, and so without signing, its records', async () => {
    const { stateDir, keys } = await openTestRecords();
    const ring = await trustedKeys(closedInvocation(stateDir));
    expect([...ring.keys.keys()]).toEqual([keys.currentId]);
  });

  test('says what is missing where there are no keys', async () => {
    const { stateDir } = await openTestRecords();
    await expect(trustedKeys(closedInvocation(join(stateDir, 'none')))).rejects.toMatchObject({
      code: 'door/wrong-usage',
      message: expect.stringContaining('expected --key FILE'),
    });
  });
});
