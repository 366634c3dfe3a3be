import { expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { approvalMigrations } from '../../src/approval/approval.ts';
import { ask, decide, show } from '../../src/approval/requests.ts';
import { race } from '../budget/race.ts';
import { openStore, tempDir } from '../budget/temp-store.ts';
import { answer, request } from './sample.ts';

/** A hundred in a whole run. */
const RACERS = volume(100, 10);

it('an approval serves exactly one of many processes that try to use it', async () => {
  const directory = tempDir();
  const store = openStore(directory, approvalMigrations);
  store.transact((tx) => ask(tx, request({ id: 'apr_1' })));
  expect(store.transact((tx) => decide(tx, answer({ id: 'apr_1' }))).ok).toBe(true);
  const argsOf = Array.from({ length: RACERS }, (_, i) => [directory, 'apr_1', `call_${i}`]);
  const results = await race(new URL('./fixtures/use-once.ts', import.meta.url), argsOf);
  expect(results.filter((result) => result === 'true')).toHaveLength(1);
  expect(results.filter((result) => result === 'false')).toHaveLength(RACERS - 1);
  expect(show(store, 'apr_1')).toMatchObject({
    state: 'used',
    usedByCall: `call_${results.indexOf('true')}`,
  });
}, 180_000);
