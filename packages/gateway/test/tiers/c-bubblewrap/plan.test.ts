import { describe, expect, test } from 'vitest';
import type { ProcessTerms } from '../../../src/core/process.ts';
import { type JailHost, planC } from '../../../src/tiers/c-bubblewrap/plan.ts';
import { SAMPLE_PASS } from '../../../src/tiers/network/plan.ts';
import { sampleTerms } from '../terms.ts';
import { sampleHost, showPlan } from './sample-host.ts';

const MODERN: Partial<JailHost> = { bwrapVersion: [0, 12, 0] };
const AS_ROOT = { uid: 60001, gid: 60001, owner: { uid: 0, gid: 0 } };

const LISTED = {
  egressHosts: ['api.example.com', '*.example.org:8443', '127.0.0.1:5432', '!bad.example.org'],
};

function planned(terms: Partial<ProcessTerms> = {}, host: Partial<JailHost> = {}) {
  const plan = planC(sampleTerms(terms), sampleHost(host));
  if (!plan.ok) throw new Error(plan.problem.message);
  return plan.value;
}

/** The words that follow an option, once per place where it stands. */
function after(args: readonly string[], option: string, count: number): string[] {
  const starts = args.flatMap((word, index) => (word === option ? [index + 1] : []));
  return starts.map((start) => args.slice(start, start + count).join(' '));
}

describe('planC() lays out a jail that a reviewer can read', () => {
  test.each<[string, Partial<ProcessTerms>, Partial<JailHost>]>([
    ['ordinary-user', {}, {}],
    [
      'root-with-groups',
      { cwd: '/home/ada/project/src', directories: { workspace: '5:6', cwd: '5:7' } },
      { asRoot: AS_ROOT, cgroups: 2 },
    ],
    ['shared-network', { egress: 'none', readOnly: ['/opt/tool', '/opt/tool/lib', '/usr/share'] }, {}],
    ['listed-hosts', LISTED, { asRoot: AS_ROOT, pass: { ...SAMPLE_PASS, trusted: 'PEM' } }],
    ['workspace-in-tmp', { workspace: '/tmp/ada', executable: '/tmp/ada/run.sh' }, {}],
    [
      'git-identity',
      { gitIdentity: { name: 'Grace "Amazing" Hopper', email: 'grace@example.com' } },
      { etc: [] },
    ],
    ['protected-paths', { protectedPaths: ['.git/hooks', '.git/config', '.envrc'] }, MODERN],
  ])('%s', async (name, terms, host) => {
    await expect(showPlan(planC(sampleTerms(terms), sampleHost(host)))).toMatchFileSnapshot(
      `golden/${name}.txt`,
    );
  });
});

/** One difference each: the terms and the place of a run that a jail could be mistaken over. */
const DIFFERENCES: readonly [Partial<ProcessTerms>, Partial<JailHost>][] = [
  [{}, {}],
  [{ workspace: '/srv/build', cwd: '/srv/build' }, {}],
  [{ cwd: '/home/ada/project/src' }, {}],
  [{ readOnly: ['/opt/tool'] }, {}],
  [{ protectedPaths: ['.envrc'] }, {}],
  [{ egress: 'none' }, {}],
  [LISTED, {}],
  [{ gitIdentity: { name: 'Grace', email: 'grace@example.com' } }, {}],
  [{ limits: { ...sampleTerms().limits, memoryBytes: 2 ** 28 } }, {}],
  [{ limits: { ...sampleTerms().limits, wallMs: 1 } }, {}],
  [{ argv: ['git', 'log'], env: { A: '1' } }, {}],
  [{}, { cgroups: 2 }],
  [{}, { asRoot: AS_ROOT }],
  [{}, { asRoot: { ...AS_ROOT, owner: { uid: 7, gid: 7 } } }],
  [{}, { hasStreams: true }],
  [{}, { countsCpu: true }],
  [{}, { pass: { ...SAMPLE_PASS, trusted: 'PEM' } }],
  [{}, { pass: { ...SAMPLE_PASS, trusted: 'another PEM' } }],
];

test('planC() gives every run the plan of its own terms, whatever jails were laid out before', () => {
  const jails: NonNullable<JailHost['jails']> = new Map();
  for (const [terms, host] of [...DIFFERENCES, ...DIFFERENCES]) {
    expect(planned(terms, { ...MODERN, ...host, jails })).toEqual(planned(terms, { ...MODERN, ...host }));
  }
});

describe('planC() places the workspace', () => {
  test.each(['/home/ada/project', '/srv/build', '/var/tmp/x', '/root/work', '/home/palisade2', '/workspace'])(
    'at its own path %s',
    (workspace) => {
      expect(planned({ workspace }).told).toContain(`cwd=${workspace}`);
    },
  );

  test.each([
    '/usr/src/app',
    '/etc/app',
    '/tmp/x',
    '/tmp',
    '/home',
    '/home/palisade/x',
    '/dev/shm/x',
    '/oldroot/x',
  ])('apart when %s is taken by the jail', (workspace) => {
    const plan = planned({ workspace, executable: '/usr/bin/git' });
    expect(plan.told).toContain('cwd=/workspace');
  });

  test('apart, with the path of old as a link only in a place of its own', () => {
    expect(after(planned({ workspace: '/tmp/x/y' }).args, '--symlink', 2)).toContain('/workspace /tmp/x/y');
    expect(planned({ workspace: '/etc/x' }).args).not.toContain('/etc/x');
  });

  test('with a link from /var/tmp to /tmp, unless something of the host is below it', () => {
    const linked = (terms: Partial<ProcessTerms>) =>
      after(planned(terms).args, '--symlink', 2).includes('/tmp /var/tmp');
    expect(linked({})).toBe(true);
    expect(linked({ workspace: '/var/www/site' })).toBe(true);
    expect(linked({ workspace: '/var/tmp/x' })).toBe(false);
    expect(linked({ readOnly: ['/var/tmp/tools'] })).toBe(false);
  });

  test('and binds no file of /etc again that every jail shows', () => {
    expect(planned({ readOnly: ['/etc/services', '/etc/alternatives/cc'] }).args).toEqual(planned().args);
    expect(planned({ readOnly: ['/etc/app.conf'] }).args).toContain('/etc/app.conf');
  });

  test('last of all binds, with the root closed after it', () => {
    const { args } = planned({ readOnly: ['/opt/a', '/opt/b'] });
    expect(args.indexOf('--bind-fd')).toBeGreaterThan(args.lastIndexOf('--ro-bind'));
    expect(args.lastIndexOf('--remount-ro')).toBeGreaterThan(args.indexOf('--bind-fd'));
    expect(args.filter((word) => /^--(dev-)?bind(-try)?$/.test(word))).toEqual([]);
  });
});

describe('planC() and the network', () => {
  test('has none at all where a strict run may reach nothing, and only then makes bubblewrap do it', () => {
    for (const egressHosts of [[], ['!example.com']]) {
      const { args, words, network } = planned({ egressHosts });
      expect(args).toContain('--unshare-net');
      expect(words.join(' ')).not.toMatch(/net=|listen=|handles=/);
      expect(network).toBeNull();
    }
    const { args, words } = planned(LISTED);
    expect(args).not.toContain('--unshare-net');
    expect(words).toContain('net=1');
  });

  test('has the hosts of a list only where the run is strict', () => {
    const { args, words, network } = planned({ ...LISTED, egress: 'none' });
    expect(args).not.toContain('--unshare-net');
    expect(words).not.toContain('net=1');
    expect(network).toBeNull();
  });

  test('is proved by the facts in either way', () => {
    for (const egressHosts of [[], ['example.com']]) {
      const { expected } = planned({ egressHosts });
      expect(expected.equal.interfaces).toBe('lo');
      expect(expected.newNamespaces).toContain('net');
    }
  });

  test('has the token in no word but those that only the run gets', () => {
    const pass = { ...SAMPLE_PASS, token: 'a-token-of-this-run', placeholders: { KEY: 'placeholder-1' } };
    const { words, args, told, descriptors } = planned(LISTED, { pass });
    expect(told.join('\n')).toContain('a-token-of-this-run');
    expect(told).toContain('set=KEY=placeholder-1');
    const outside = JSON.stringify([words, args, descriptors]);
    expect(outside).not.toContain('a-token-of-this-run');
    expect(outside).not.toContain('placeholder-1');
  });

  test('lets no variable of the call stand in for those of the proxy', () => {
    const { told } = planned({ ...LISTED, env: { HTTPS_PROXY: 'http://evil.test', NO_PROXY: '*' } });
    expect(told.filter((word) => word.startsWith('set=HTTPS_PROXY=')).join()).toContain('@127.0.0.1:3128');
    expect(told).toContain('set=NO_PROXY=localhost,127.0.0.1,::1');
  });
});

describe('planC() refuses', () => {
  test.each<[string, Partial<ProcessTerms>, Partial<JailHost>, RegExp]>([
    [
      'protected paths with an old bubblewrap',
      { protectedPaths: ['.git/hooks'] },
      {},
      /0\.8\.0.*expected 0\.12\.0/,
    ],
    [
      'protected paths with the last bad one',
      { protectedPaths: ['x'] },
      { bwrapVersion: [0, 11, 99] },
      /0\.11\.99/,
    ],
    ['a protected path that climbs out', { protectedPaths: ['../x'] }, MODERN, /not a path inside/],
    ['a protected path from the root', { protectedPaths: ['/etc'] }, MODERN, /not a path inside/],
    ['the workspace itself as protected', { protectedPaths: ['.'] }, MODERN, /not a path inside/],
    ['an option after a NUL in a path', { readOnly: ['/opt\0--bind\0/\0/opt'] }, {}, /NUL/],
    ['an option after a NUL in a variable', { env: { A: 'x\0--bind\0/\0/x' } }, {}, /NUL/],
    ['an option after a NUL in a workspace', { workspace: '/w\0--share-net' }, {}, /NUL/],
    ['a variable that is no name', { env: { 'A=B': 'c' } }, {}, /variable/],
    ['a root for a workspace', { workspace: '/' }, {}, /holds "\/usr"/],
    ['the system for a workspace', { workspace: '/etc' }, {}, /holds "\/etc"/],
    ['a working directory outside', { cwd: '/home/ada' }, {}, /outside/],
    ['a neighbour with the same beginning', { cwd: '/home/ada/project2' }, {}, /outside/],
    ['a path that climbs', { cwd: '/home/ada/project/../x' }, {}, /canonical/],
    ['a path with a slash at its end', { workspace: '/home/ada/' }, {}, /canonical/],
    ['an empty command', { argv: [] }, {}, /argv is empty/],
    ['the whole host to read', { readOnly: ['/'] }, {}, /cover/],
    ['all homes to read', { readOnly: ['/home'] }, {}, /cover "\/home\/palisade"/],
    ['the real /etc to read', { readOnly: ['/etc'] }, {}, /cover "\/etc"/],
    ['the real users to read', { readOnly: ['/etc/passwd'] }, {}, /cover "\/etc\/passwd"/],
    ['the kernel to read', { readOnly: ['/sys/fs/cgroup'] }, {}, /cover "\/sys"/],
    ['a bind below a writable place', { readOnly: ['/tmp/x'] }, {}, /cover "\/tmp"/],
    ['a bind in the workspace', { readOnly: ['/home/ada/project/lib'] }, {}, /lies in the workspace/],
    ['a program that is not shown', { executable: '/opt/tool/bin/x' }, {}, /outside the sandbox/],
    ['more paths than bubblewrap takes', { readOnly: manyPaths(5_000) }, {}, /arguments, expected at most/],
    ['to run as root', {}, { asRoot: { ...AS_ROOT, uid: 0 } }, /0:60001/],
    ['to run with the group of root', {}, { asRoot: { ...AS_ROOT, gid: 0 } }, /60001:0/],
    ['to run without a filter', {}, { seccomp: new Uint8Array() }, /filter has 0 bytes/],
    ['a bubblewrap that binds by name only', {}, { bwrapOptions: ['--args'] }, /lacks --/],
  ])('%s', (_, terms, host, message) => {
    const refusal = planC(sampleTerms(terms), sampleHost(host));
    expect(refusal).toMatchObject({ ok: false, problem: { code: 'tier/unenforceable' } });
    expect(refusal.ok ? '' : refusal.problem.message).toMatch(message);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])('a limit of %d', (value) => {
    const { limits } = sampleTerms();
    for (const name of Object.keys(limits)) {
      const refusal = planC(sampleTerms({ limits: { ...limits, [name]: value } }), sampleHost());
      expect(refusal).toMatchObject({
        ok: false,
        problem: { message: expect.stringContaining(`limit ${name}`) },
      });
    }
  });
});

describe('planC() keeps to the terms', () => {
  test('by shutting the network unless it is shared on purpose', () => {
    expect(planned().args).toContain('--unshare-net');
    for (const egress of ['none', 'preflight'] as const) {
      const plan = planned({ egress });
      expect(plan.args).not.toContain('--unshare-net');
      expect(plan.expected.newNamespaces).not.toContain('net');
      expect(plan.expected.equal).not.toHaveProperty('interfaces');
    }
  });

  test('by showing nothing of the environment on a command line', () => {
    const plan = planned({ env: { TOKEN: 'hunter2' } }, { asRoot: AS_ROOT });
    expect([...plan.words, ...plan.args].join(' ')).not.toContain('hunter2');
    expect(plan.args).toContain('--clearenv');
    expect(plan.told).toContain('set=TOKEN=hunter2');
  });

  test('by giving the run a home of its own whatever its variables say', () => {
    const { told } = planned({ env: { HOME: '/home/ada', TMPDIR: '/var/tmp' } });
    expect(told).toEqual(expect.arrayContaining(['set=HOME=/home/palisade', 'set=TMPDIR=/tmp']));
    expect(told.join(' ')).not.toContain('/home/ada ');
  });

  test('by giving all places in memory together no more than the memory of the run', () => {
    const { args } = planned();
    const sizes = after(args, '--size', 1).map(Number);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(512 * 1024 * 1024);
    expect(sizes).toHaveLength(args.filter((word) => word === '--tmpfs').length);
  });

  test('by leaving --disable-userns out only where bubblewrap does not know it', () => {
    const bwrapOptions = sampleHost().bwrapOptions.filter((option) => option !== '--disable-userns');
    expect(planned().args).toContain('--disable-userns');
    expect(planned({}, { bwrapOptions }).args).not.toContain('--disable-userns');
  });

  test('by keeping a word that looks like an option a word of the command', () => {
    const { told } = planned({ argv: ['git', '--bind', '/', '--', '$(x)\n'] });
    expect(told.slice(told.lastIndexOf('facts=1'))).toEqual([
      ...['facts=1', '--', '/usr/bin/git', 'git', '--bind', '/', '--', '$(x)\n'],
    ]);
  });
});

test.each([
  ['/home/ada/project', '/home/ada/project'],
  ['/a b', '/a\\x5c040b'],
  ['/a\\b', '/a\\x5c134b'],
  ['/a,b', '/a\\x2cb'],
  ['/a\nb', '/a\\x5c012b'],
  ['/é', '/\\xc3\\xa9'],
  ['/a\u007f', '/a\\x7f'],
])('planC() expects the mount %j as the launcher writes it', (workspace, fact) => {
  expect(planned({ workspace }).expected.within?.mounts_rw).toContain(fact);
});

function manyPaths(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `/opt/p${index}`);
}
