import { describe, expect, test } from 'vitest';
import { authorize } from '../../src/policy/authorize.ts';
import { loadCedar } from '../../src/policy/cedar.ts';
import type { PolicyEngine } from '../../src/policy/engine.ts';
import { APPROVED, type Bed, COUNT, checkedCall, FACTS, makeBed, PERMIT_ALL } from './sample.ts';

const READS_TEXT = `${PERMIT_ALL}@id("no-q") forbid(principal, action == Action::"call", resource) when { context.inputText like "*q*" };\n`;
const ERRS =
  '@id("errs") permit(principal, action == Action::"call", resource) when { context.budgetLeft.calls + 9223372036854775807 > 0 };\n';

/** Engines of processes that follow each other, and how often each loaded the evaluator to decide. */
function processes(bed: Bed) {
  const open = () => {
    const loads = { count: 0 };
    const load = () => {
      loads.count += 1;
      return loadCedar();
    };
    return { engine: bed.open({ keepsAnswers: true, load }), loads };
  };
  return {
    /** What a new process decides, after what it has written is written. */
    async verdict(text: string, facts = FACTS) {
      const { engine, loads } = open();
      const before = loads.count;
      const { verdict } = authorize(engine, checkedCall(COUNT, { text }), facts);
      await bed.store.commit(() => undefined);
      return { verdict, loads: loads.count - before, by: decidedBy(engine, text) };
    },
  };
}

function decidedBy(engine: PolicyEngine, text: string): readonly string[] {
  const decision = authorize(engine, checkedCall(COUNT, { text }), FACTS);
  return decision.verdict === 'allow' ? decision.grant.decidedBy : decision.decidedBy;
}

describe('an answer of the evaluator', () => {
  test('is given by the next process without loading it', async () => {
    const next = processes(makeBed({ 'a.cedar': READS_TEXT }));
    expect(await next.verdict('a')).toEqual({ verdict: 'allow', loads: 1, by: ['all'] });
    expect(await next.verdict('a')).toEqual({ verdict: 'allow', loads: 0, by: ['all'] });
  });

  test('is that of the question: another input, another fact or another set is asked anew', async () => {
    const bed = makeBed({ 'a.cedar': READS_TEXT });
    const next = processes(bed);
    await next.verdict('a');
    expect(await next.verdict('q')).toMatchObject({ verdict: 'deny', loads: 1 });
    expect(await next.verdict('q')).toMatchObject({ verdict: 'deny', loads: 0, by: ['no-q'] });
    bed.write('a.cedar', READS_TEXT.replace('*q*', '*a*'));
    expect(await next.verdict('a')).toMatchObject({ verdict: 'deny', loads: 1 });
    expect(await next.verdict('q')).toMatchObject({ verdict: 'allow', loads: 1 });
  });

  test('with an approval is not that without one', async () => {
    const text =
      '@id("asks") permit(principal, action == Action::"call", resource) when { context.approved };\n';
    const next = processes(makeBed({ 'a.cedar': text }));
    expect((await next.verdict('a', APPROVED)).verdict).toBe('allow');
    expect((await next.verdict('a')).verdict).toBe('ask');
  });

  test('that is an error is not kept', async () => {
    const next = processes(makeBed({ 'a.cedar': ERRS }));
    expect(await next.verdict('a')).toMatchObject({ verdict: 'deny', loads: 1 });
    expect(await next.verdict('a')).toMatchObject({ verdict: 'deny', loads: 1 });
  });

  test.each([
    ['is not JSON', 'no'],
    ['is of another shape', '{"verdict":"allow"}'],
    ['is no verdict', '{"verdict":"error","decidedBy":[]}'],
    ['has other ids', '{"verdict":"allow","decidedBy":[1]}'],
  ])('that %s is asked again', async (_, json) => {
    const bed = makeBed({ 'a.cedar': READS_TEXT });
    const next = processes(bed);
    await next.verdict('q');
    const sql = 'UPDATE policy_answer SET answer_json = ?';
    await bed.store.commit((tx) => tx.run({ sql: () => sql, bind: () => [json] }, {}));
    expect(await next.verdict('q')).toMatchObject({ verdict: 'deny', loads: 1 });
  });

  test('is kept no longer than for a thousand others', async () => {
    const bed = makeBed({ 'a.cedar': READS_TEXT });
    const next = processes(bed);
    await next.verdict('a');
    const sql = `INSERT INTO policy_answer (at, key, answer_json) VALUES (5000, 'later', '{}')`;
    await bed.store.commit((tx) => tx.run({ sql: () => sql, bind: () => [] }, {}));
    await next.verdict('b');
    expect(await next.verdict('a')).toMatchObject({ loads: 1 });
  });

  test('is not written down by a process that lasts', async () => {
    const bed = makeBed({ 'a.cedar': READS_TEXT });
    authorize(bed.open(), checkedCall(COUNT, { text: 'a' }), FACTS);
    await bed.store.commit(() => undefined);
    const rows = bed.store.all({ sql: () => 'SELECT key FROM policy_answer', bind: () => [] }, {});
    expect(rows).toEqual([]);
  });
});
