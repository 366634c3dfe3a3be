import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { authorize } from '../../src/policy/authorize.ts';
import type { PolicyEngine } from '../../src/policy/engine.ts';
import { type Bed, COUNT, checkedCall, FACTS, makeBed, PERMIT_ALL } from './sample.ts';

const FORBID_ALL = '@id("none") forbid(principal, action, resource);\n';
const STRICT = PERMIT_ALL + FORBID_ALL;
const verdictOf = (engine: PolicyEngine) =>
  authorize(engine, checkedCall(COUNT, { text: '' }), FACTS).verdict;

/** A state directory in which these policies were active in a process that is gone. */
async function established(text: string): Promise<Bed> {
  const bed = makeBed({ 'a.cedar': text });
  bed.open();
  await bed.store.commit(() => undefined);
  bed.events.length = 0;
  return bed;
}

describe('a missing directory', () => {
  test('does not bring back the starters where a set was active: that set stays and the problem is told', async () => {
    const bed = await established(STRICT);
    const aside = `${bed.directory}.aside`;
    renameSync(bed.directory, aside);
    const engine = bed.open();
    expect(existsSync(bed.directory)).toBe(false);
    expect(engine.set?.policies.map(({ id }) => id)).toEqual(['all', 'none']);
    expect(verdictOf(engine)).toBe('deny');
    expect(engine.problems).toMatchObject([
      { file: '.', message: 'Cannot read the policies: the directory is missing' },
    ]);
    expect(bed.events).toMatchObject([{ kind: 'policy-refused', digest: engine.setDigest }]);
    renameSync(aside, bed.directory);
    expect(bed.open().problems).toEqual([]);
  });

  test('is not seeded either where the remembered set is damaged: everything is denied', async () => {
    const bed = await established(STRICT);
    const sql = `UPDATE policy_set SET policies_json = '[]'`;
    await bed.store.commit((tx) => tx.run({ sql: () => sql, bind: () => [] }, {}));
    rmSync(bed.directory, { recursive: true });
    const engine = bed.open();
    expect(existsSync(bed.directory)).toBe(false);
    expect(engine.set).toBeNull();
    expect(verdictOf(engine)).toBe('deny');
  });

  test('is seeded as long as no set was ever active', () => {
    const bed = makeBed(null);
    expect(verdictOf(bed.open())).toBe('allow');
    expect(readdirSync(bed.directory)).not.toEqual([]);
  });
});

describe('an empty directory', () => {
  test('is the choice of the operator: it is taken as a set without policies, which denies everything', async () => {
    const bed = await established(PERMIT_ALL);
    rmSync(bed.directory, { recursive: true });
    mkdirSync(bed.directory);
    const engine = bed.open();
    expect(readdirSync(bed.directory)).toEqual([]);
    expect(engine.problems).toEqual([]);
    expect(engine.set?.policies).toEqual([]);
    expect(engine.warnings[0]?.message).toContain('No policy permits anything');
    expect(verdictOf(engine)).toBe('deny');
  });
});

describe('a start', () => {
  test('drops a policy that the last set had when a second look agrees', async () => {
    const bed = await established(STRICT);
    bed.write('a.cedar', PERMIT_ALL);
    expect(verdictOf(bed.open())).toBe('allow');
  });

  test('takes the whole file when it was only half written at the first look', async () => {
    const bed = await established(STRICT);
    bed.write('a.cedar', PERMIT_ALL);
    const pauses: number[] = [];
    const pause = (ms: number) => {
      pauses.push(ms);
      bed.write('a.cedar', `${STRICT}// written to the end\n`);
    };
    const engine = bed.open({ pause });
    expect(pauses).toEqual([50]);
    expect(engine.set?.policies.map(({ id }) => id)).toEqual(['all', 'none']);
    expect(verdictOf(engine)).toBe('deny');
  });

  test('stays with the last set while the files still change, and takes them once they rest', async () => {
    const bed = await established(STRICT);
    bed.write('a.cedar', PERMIT_ALL);
    const engine = bed.open({ pause: () => bed.write('a.cedar', `${PERMIT_ALL}// more\n`) });
    expect(verdictOf(engine)).toBe('deny');
    expect(bed.events).toEqual([]);
    engine.refresh();
    expect(verdictOf(engine)).toBe('allow');
  });

  test('does not wait where no policy is lost', async () => {
    const bed = await established(PERMIT_ALL);
    bed.write('a.cedar', STRICT);
    const pause = () => {
      throw new Error('waited');
    };
    expect(verdictOf(bed.open({ pause }))).toBe('deny');
  });
});
