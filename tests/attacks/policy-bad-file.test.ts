import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { authorize } from '../../packages/gateway/src/policy/authorize.ts';
import { COUNT, checkedCall, FACTS, makeBed, PERMIT_ALL } from '../../packages/gateway/test/policy/sample.ts';

const GUARD = '@id("guard") forbid(principal == Agent::"ada", action, resource);\n';

describe('a policy file that is broken to get rid of a forbid', () => {
  const ways: readonly [string, (path: string) => void][] = [
    ['cut off in the middle', (path) => writeFileSync(path, GUARD.slice(0, 30))],
    ['emptied for a moment', (path) => writeFileSync(path, '')],
    ['filled with bytes that are no text', (path) => writeFileSync(path, Buffer.from([0xff, 0xfe]))],
    ['given the @id of another policy', (path) => writeFileSync(path, GUARD.replace('guard', 'all'))],
    ['made to fail', (path) => writeFileSync(path, GUARD.replace(';', ' when { context.nothing };'))],
    ['made larger than the limit', (path) => writeFileSync(path, `${GUARD}//${'x'.repeat(300_000)}`)],
    ['turned into a template', (path) => writeFileSync(path, GUARD.replace('Agent::"ada"', '?principal'))],
    [
      'replaced by a link to a permit',
      (path) => {
        rmSync(path);
        symlinkSync('permit.cedar', path);
      },
    ],
  ];
  test.each(ways)('%s leaves the forbid in force, and a good file is taken again', (_, breakIt) => {
    const bed = makeBed({ 'guard.cedar': GUARD, 'permit.cedar': PERMIT_ALL });
    const engine = bed.open();
    const path = join(bed.directory, 'guard.cedar');
    const verdict = () => authorize(engine, checkedCall(COUNT, { text: '' }), FACTS).verdict;
    breakIt(path);
    engine.refresh();
    expect(verdict()).toBe('deny');
    rmSync(path);
    writeFileSync(path, GUARD.replace('ada', 'eve'));
    engine.refresh();
    expect(verdict()).toBe('allow');
    expect(engine.problems).toEqual([]);
  });

  test('hidden behind a carriage return in a comment is seen as Cedar sees it', () => {
    const engine = makeBed({ 'a.cedar': `${PERMIT_ALL}// nothing here\r${GUARD}` }).open();
    expect(engine.set?.policies.map(({ id }) => id)).toEqual(['all', 'guard']);
    expect(authorize(engine, checkedCall(COUNT, { text: '' }), FACTS).verdict).toBe('deny');
  });

  test('with a forbid that fails does not let the call through', () => {
    const failing = `@id("over") forbid(principal, action == Action::"call", resource) when { context.limits.wallMs * 9223372036854775807 == 0 };`;
    const engine = makeBed({ 'a.cedar': PERMIT_ALL, 'b.cedar': failing }).open();
    const decision = authorize(engine, checkedCall(COUNT, { text: '' }), FACTS);
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
  });
});
