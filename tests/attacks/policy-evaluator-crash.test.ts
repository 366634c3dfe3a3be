import { describe, expect, test } from 'vitest';
import { authorize } from '../../packages/gateway/src/policy/authorize.ts';
import { type Cedar, loadCedar } from '../../packages/gateway/src/policy/cedar.ts';
import { explain } from '../../packages/gateway/src/policy/explain.ts';
import { COUNT, checkedCall, FACTS, makeBed, PERMIT_ALL } from '../../packages/gateway/test/policy/sample.ts';

type Fault = 'none' | Error;

/** Evaluators of which the one that decides fails at a command; a crashed one goes on failing, as a real one does. */
function breakable(command: { fault: Fault }): () => Cedar {
  return () => {
    const cedar = loadCedar();
    let isDead = false;
    const statefulIsAuthorized: Cedar['statefulIsAuthorized'] = (call) => {
      const { fault } = command;
      if (isDead) throw new WebAssembly.RuntimeError('memory access out of bounds');
      if (fault === 'none' || call.preparsedPolicySetId === 'trial') return cedar.statefulIsAuthorized(call);
      isDead = fault instanceof RangeError || fault instanceof WebAssembly.RuntimeError;
      throw fault;
    };
    return { ...cedar, statefulIsAuthorized };
  };
}

const READS_INPUT =
  '@id("all") permit(principal, action == Action::"call", resource) when { context.inputText != "" };';

describe('an evaluator that breaks', () => {
  const checked = checkedCall(COUNT, { text: '' });
  const count = { calls: 0 };
  /** Each is another question, so that none is answered from memory. */
  const another = () => {
    count.calls += 1;
    return checkedCall(COUNT, { text: String(count.calls) });
  };

  test.each([
    ['a trap', new WebAssembly.RuntimeError('unreachable')],
    ['an exhausted stack', new RangeError('Maximum call stack size exceeded')],
  ])('by %s denies the call at hand, is reported and heals', (_, fault) => {
    const command: { fault: Fault } = { fault: 'none' };
    const bed = makeBed({ 'a.cedar': READS_INPUT });
    const engine = bed.open({ load: breakable(command) });
    expect(authorize(engine, another(), FACTS).verdict).toBe('allow');
    command.fault = fault;
    const decision = authorize(engine, another(), FACTS);
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
    expect(bed.events.at(-1)).toMatchObject({ kind: 'policy-crashed', digest: engine.setDigest });
    command.fault = 'none';
    expect(authorize(engine, another(), FACTS).verdict).toBe('allow');
    expect(bed.events.filter(({ kind }) => kind === 'policy-crashed')).toHaveLength(1);
  });

  test('by a mere error denies the call at hand and keeps its instance', () => {
    const command: { fault: Fault } = { fault: 'none' };
    const bed = makeBed({ 'a.cedar': READS_INPUT });
    let loads = 0;
    const load = () => {
      loads += 1;
      return breakable(command)();
    };
    const engine = bed.open({ load });
    authorize(engine, another(), FACTS);
    const before = loads;
    command.fault = new Error('unexpected end of hex escape');
    expect(authorize(engine, another(), FACTS).verdict).toBe('deny');
    command.fault = 'none';
    expect(authorize(engine, another(), FACTS).verdict).toBe('allow');
    expect(loads).toBe(before);
  });

  test('and cannot be loaded again denies until it can', () => {
    const command: { fault: Fault } = { fault: 'none' };
    let isMissing = false;
    const load = () => {
      if (isMissing) throw new Error('Cannot find module');
      return breakable(command)();
    };
    const engine = makeBed({ 'a.cedar': READS_INPUT }).open({ load });
    expect(authorize(engine, another(), FACTS).verdict).toBe('allow');
    command.fault = new RangeError('x');
    isMissing = true;
    expect(authorize(engine, another(), FACTS).verdict).toBe('deny');
    command.fault = 'none';
    expect(authorize(engine, another(), FACTS).verdict).toBe('deny');
    isMissing = false;
    expect(authorize(engine, another(), FACTS).verdict).toBe('allow');
  });

  test('while a call is explained does not touch the one that decides', () => {
    const load = (): Cedar => ({
      ...loadCedar(),
      isAuthorized: () => {
        throw new WebAssembly.RuntimeError('unreachable');
      },
    });
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const engine = bed.open({ load });
    expect(explain(engine, checked, FACTS)).toMatchObject({ verdict: 'allow', decidedBy: [{ id: 'all' }] });
    expect(authorize(engine, checked, FACTS).verdict).toBe('allow');
    expect(bed.events.map(({ kind }) => kind)).toEqual(['policy-loaded']);
  });

  test('answers with an error inside a success, and that is a denial', () => {
    const load = (): Cedar => {
      const cedar = loadCedar();
      const error = { message: 'x', help: null, code: null, url: null, severity: null };
      const diagnostics = { reason: ['all'], errors: [{ policyId: 'no', error }] };
      return {
        ...cedar,
        statefulIsAuthorized: () => ({
          type: 'success',
          response: { decision: 'allow', diagnostics },
          warnings: [],
        }),
      };
    };
    const engine = makeBed({ 'a.cedar': PERMIT_ALL }).open({ load });
    expect(authorize(engine, checked, FACTS).verdict).toBe('deny');
  });
});
