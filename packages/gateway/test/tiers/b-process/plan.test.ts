import { describe, expect, test } from 'vitest';
import type { ProcessTerms } from '../../../src/core/process.ts';
import { FILTERS_B, filterOfB, type ProcessHost, planB } from '../../../src/tiers/b-process/plan.ts';
import type { Descriptor } from '../../../src/tiers/child/child.ts';
import { SAMPLE_PASS } from '../../../src/tiers/network/plan.ts';
import { sampleTerms } from '../terms.ts';

const AS_ROOT = { uid: 60001, gid: 60001, owner: { uid: 1000, gid: 1000 } };

function sampleHost(changes: Partial<ProcessHost> = {}): ProcessHost {
  return {
    hasNamespaces: true,
    hasLandlock: true,
    seccomp: new Uint8Array(8),
    cgroups: 0,
    asRoot: null,
    pass: SAMPLE_PASS,
    isReachable: true,
    ownThreads: 120,
    ...changes,
  };
}

const LISTED = { egressHosts: ['api.example.com', '127.0.0.1:5432'] };

function planned(terms: Partial<ProcessTerms> = {}, host: Partial<ProcessHost> = {}) {
  const plan = planB(sampleTerms(terms), sampleHost(host));
  if (!plan.ok) throw new Error(plan.problem.message);
  return plan.value;
}

function nameOf(descriptor: Descriptor): string {
  return 'name' in descriptor ? String(descriptor.name) : descriptor.role;
}

function showPlan(plan: ReturnType<typeof planned>): string {
  const roles = plan.descriptors.map((each, index) => `${index + 3} ${nameOf(each)}`);
  return [
    `# words\n${plan.words.join('\n')}`,
    `# told\n${plan.told.join('\n')}`,
    `# descriptors\n${roles.join('\n')}`,
    `# expected\n${JSON.stringify(plan.expected, null, 2)}\n`,
  ].join('\n\n');
}

describe('planB() lists words that a reviewer can read', () => {
  test.each<[string, Partial<ProcessTerms>, Partial<ProcessHost>]>([
    ['namespaces', {}, {}],
    ['landlock', {}, { hasNamespaces: false }],
    ['root-with-groups', {}, { asRoot: AS_ROOT, cgroups: 3 }],
    ['listed-hosts', LISTED, { asRoot: AS_ROOT }],
  ])('%s', async (name, terms, host) => {
    await expect(showPlan(planned(terms, host))).toMatchFileSnapshot(`golden/${name}.txt`);
  });
});

describe('planB()', () => {
  test('numbers descriptors as it lists them', () => {
    const { descriptors, words, told } = planned({}, { asRoot: AS_ROOT, cgroups: 2 });
    const numbered = descriptors.map((each, index) => `${nameOf(each)}=${index + 3}`);
    expect([...words, ...told]).toEqual(expect.arrayContaining(numbered));
    expect(new Set(numbered).size).toBe(8);
  });

  test('holds a list of hosts by a network of its own, with network sockets and the facts to prove it', () => {
    const { words, told, expected, network } = planned(LISTED);
    expect(words).toEqual(expect.arrayContaining(['ns=1', 'net=1', 'listen=127.0.0.1:3128']));
    expect(told.filter((word) => word.startsWith('set=https_proxy=http://run:'))).toHaveLength(1);
    expect(expected.newNamespaces).toContain('net');
    expect(expected.equal.interfaces).toBe('lo');
    expect(network?.names).toEqual([]);
    expect(FILTERS_B[filterOfB(sampleTerms(LISTED))].inet).toBe(true);
  });

  test('refuses a list of hosts where nothing could hold it, and to open TLS', () => {
    const unheld = planB(sampleTerms(LISTED), sampleHost({ hasNamespaces: false, asRoot: AS_ROOT }));
    expect(unheld).toMatchObject({
      ok: false,
      problem: { message: expect.stringContaining('user namespaces') },
    });
    const opened = planB(sampleTerms(LISTED), sampleHost({ pass: { ...SAMPLE_PASS, trusted: 'PEM' } }));
    expect(opened).toMatchObject({ ok: false, problem: { message: expect.stringContaining('TLS') } });
  });

  test('counts its own reaper in a namespace, and the threads of the user without one', () => {
    expect(planned().told).toContain('nproc=65');
    expect(planned({}, { hasNamespaces: false }).told).toContain('nproc=184');
  });

  test('leaves the count of processes to a group where there is one, and stands behind it', () => {
    expect(planned({}, { cgroups: 1 }).told).toContain('nproc=81');
  });

  test('never takes the network away with Landlock from a run of another user that was given it', () => {
    const host = { hasNamespaces: false, asRoot: AS_ROOT };
    const { told } = planned({ egress: 'preflight' }, host);
    expect(told.filter((word) => /^r[ow]=/.test(word))).toEqual([]);
  });

  test('asks for a filter without network sockets where nothing else stops them', () => {
    expect(FILTERS_B[filterOfB(sampleTerms())]).toEqual({
      unixSockets: false,
      inet: false,
      interfaces: false,
    });
    expect(FILTERS_B[filterOfB(sampleTerms({ egress: 'none' }))].inet).toBe(true);
  });

  test('enters the workspace by its descriptor, and a directory below relative to that', () => {
    const asRoot = AS_ROOT;
    expect(planned({}, { asRoot }).words).toContain('chdir=1');
    const below = planned({ cwd: '/home/ada/project/src' }, { asRoot });
    expect(below.words).toContain('chdir=1');
    expect(below.told).toContain('cwd=./src');
  });

  test('names its directories by what was judged, for root and for an ordinary user', () => {
    const directories = { workspace: '5:6', cwd: '5:7' };
    const terms = { cwd: '/home/ada/project/src', directories };
    expect(planned(terms).told).toContain('cwd=5:7:/home/ada/project/src');
    expect(planned(terms, { asRoot: AS_ROOT }).told).toContain('cwd=5:7:./src');
    const { told } = planned(terms, { hasNamespaces: false, hasLandlock: true });
    expect(told).toContain('rw=5:6:/home/ada/project');
  });

  test('leaves words after the first -- to the command', () => {
    const { told } = planned({ argv: ['git', '--', 'uid=0'] });
    expect(told.slice(told.indexOf('--'))).toEqual([...['--', '/usr/bin/git', 'git', '--', 'uid=0']]);
  });

  test.each<[string, Partial<ProcessTerms>, Partial<ProcessHost>, RegExp]>([
    [
      'a run that nothing keeps from the gateway of the same user',
      { egress: 'preflight' },
      { hasNamespaces: false },
      /expected one of them to keep the command from the gateway/,
    ],
    ['a workspace out of reach', {}, { asRoot: AS_ROOT, isReachable: false }, /cannot reach it/],
    ['protected paths', { protectedPaths: ['.git'] }, {}, /tier B lets a run write/],
    ['to run as root', {}, { asRoot: { ...AS_ROOT, uid: 0 } }, /expected a user and a group other than 0/],
    ['a user that is no number', {}, { asRoot: { ...AS_ROOT, uid: Number.NaN } }, /NaN:60001/],
    ['to run without a filter', {}, { seccomp: new Uint8Array() }, /filter has 0 bytes/],
    ['a torn filter', {}, { seccomp: new Uint8Array(9) }, /filter has 9 bytes/],
    ['a NUL in an argument', { argv: ['git', 'a\0b'] }, {}, /NUL/],
    ['a limit of nothing', { limits: { ...sampleTerms().limits, cpuMs: 0 } }, {}, /limit cpuMs: it is 0/],
  ])('refuses %s', (_, terms, host, message) => {
    const refusal = planB(sampleTerms(terms), sampleHost(host));
    expect(refusal).toMatchObject({ ok: false, problem: { code: 'tier/unenforceable' } });
    expect(refusal.ok ? '' : refusal.problem.message).toMatch(message);
  });
});
