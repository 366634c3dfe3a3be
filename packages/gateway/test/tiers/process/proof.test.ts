import { describe, expect, test } from 'vitest';
import { ownNamespaces } from '../../../src/tiers/process/machine.ts';
import { limitsHeld, missingFact, proving, sharedNamespace } from '../../../src/tiers/process/proof.ts';

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

describe('proving()', () => {
  const plan = {
    ...{ words: [], args: [], told: [], descriptors: [], network: null },
    expected: {
      equal: { nnp: '1' },
      newNamespaces: ['pid'],
      other: { landlock: '0' },
      within: { mounts_rw: ['/tmp', '/project'] },
    },
  };
  const PROOF = { nnp: '1', 'ns.pid': '2', landlock: '7', mounts_rw: '/project,/tmp' };
  const proved = proving({ ok: true, value: plan }, { pid: '1' });
  if (!proved.ok) throw new Error('Cannot judge: the plan was refused');

  test('tells the launcher every check, so that it starts nothing that lacks one', () => {
    expect(proved.value.gate).toEqual([
      'expect=nnp=1',
      'differ=ns.pid=1',
      'differ=landlock=0',
      'within=mounts_rw=/tmp,/project',
    ]);
  });

  test.each<[changes: Record<string, string>, gap: string | null]>([
    [{}, null],
    [{ nnp: '0' }, 'nnp is 0, expected 1'],
    [{ 'ns.pid': '1' }, "the pid namespace is the gateway's, expected a new one"],
    [{ landlock: '0' }, 'landlock is 0, expected another value'],
    [{ mounts_rw: '/project,/tmp,/project/inner' }, 'mounts_rw has "/project/inner", expected no such item'],
    [{ mounts_rw: '/project' }, 'mounts_rw lacks "/tmp", expected it there'],
  ])('checks again what was reported, as %j', (changes, gap) => {
    expect(proved.value.missing({ ...PROOF, ...changes })?.text ?? null).toBe(gap);
  });
});

describe('limitsHeld()', () => {
  const facts = () => ({ cgroup_kind: 'v1', memory_max_bytes: 64 });

  test('a run without a group claims no limit of its tree but what samples show', () => {
    expect(limitsHeld(null)).toEqual({
      cgroup_kind: 'none',
      limit_cpu_time: 'sampled: at least what is reported was used',
      limit_memory: 'not held: only the data of each process',
      limit_processes: 'the user of the command',
    });
  });

  test.each([
    [true, true, 'control group', 'control group'],
    [true, false, 'control group', 'control group, except for buffers of TCP'],
    [false, true, 'sampled: at least what is reported was used', 'control group'],
  ])('a group that counts CPU time (%s) and TCP (%s) claims as much', (countsCpu, countsTcp, cpu, memory) => {
    expect(limitsHeld({ facts, countsCpu, countsTcp })).toEqual({
      ...facts(),
      ...{ limit_cpu_time: cpu, limit_memory: memory, limit_processes: 'control group' },
    });
  });
});
