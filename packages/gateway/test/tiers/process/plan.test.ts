import { describe, expect, test } from 'vitest';
import { ownNamespaces } from '../../../src/tiers/process/machine.ts';
import { missingFact, sharedNamespace } from '../../../src/tiers/process/plan.ts';

describe('missingFact()', () => {
  const expected = { nnp: '1', groups: '' };

  test('is null when every fact is as expected, whatever else is reported', () => {
    expect(missingFact({ nnp: '1', groups: '', more: 'x' }, expected)).toBeNull();
    expect(missingFact({}, {})).toBeNull();
  });

  test.each([
    [{ nnp: '0', groups: '' }, 'nnp is 0, expected 1'],
    [{ groups: '' }, 'nnp is not reported, expected 1'],
    [{ nnp: '1', groups: '27' }, 'groups is 27, expected '],
    [{ nnp: '1' }, 'groups is not reported, expected '],
    [{}, 'nnp is not reported, expected 1'],
  ])('of %j says what is missing', (facts, words) => {
    expect(missingFact(facts, expected)?.text).toBe(words);
  });

  test('does not take what every object has for a fact', () => {
    expect(missingFact({}, { constructor: 'x' })?.text).toMatch(/^constructor is /);
  });
});

describe('sharedNamespace()', () => {
  const own = { pid: '100', net: '200' };

  test('is null when each namespace is another than ours', () => {
    expect(sharedNamespace({ 'ns.pid': '101', 'ns.net': '201' }, ['pid', 'net'], own)).toBeNull();
  });

  test.each([
    ['one is ours', { 'ns.pid': '101', 'ns.net': '200' }, /^the net namespace/],
    ['one is not reported', { 'ns.net': '201' }, /^the pid namespace/],
    ['none is reported', {}, /^the pid namespace/],
  ])('names the first when %s', (_, facts, words) => {
    expect(sharedNamespace(facts, ['pid', 'net'], own)?.text).toMatch(words);
  });

  test('asks only for those that the plan has anew', () => {
    expect(sharedNamespace({ 'ns.pid': '101', 'ns.net': '200' }, ['pid'], own)).toBeNull();
  });

  test('finds our own among those that this machine reports of us', () => {
    const facts = Object.fromEntries(Object.entries(ownNamespaces()).map(([name, id]) => [`ns.${name}`, id]));
    for (const name of ['user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup']) {
      expect(sharedNamespace(facts, [name], ownNamespaces())).toMatchObject({ fact: `ns.${name}` });
    }
  });
});
