/**
 * What is tried of the image in running containers. Each trial gets `inside`, which runs a command in the container as its
 * user and gives status and output; it throws with what was wrong.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

const HTTP_CALL = `
const [token, ...body] = process.argv.slice(1);
const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' };
const answer = await fetch('http://127.0.0.1:7433/v1/calls', { method: 'POST', headers, body: body.join(' ') });
console.log(answer.status, await answer.text());`;

/** How the image is started for each of them; `profile` names a filter of system calls, `masked` what /proc is. */
export const STARTED = [
  '--read-only',
  '--tmpfs',
  '/tmp',
  '--cap-drop',
  'all',
  '--security-opt',
  'no-new-privileges',
];

/** Where user namespaces are allowed: everything works. */
export const ALLOWED = [
  [
    'the user is not root and has no capability',
    async ({ inside }) => {
      expect(await inside('id', '-u'), /^10001$/m);
      expect(
        await inside('grep', '-E', 'CapEff|CapBnd|NoNewPrivs', '/proc/self/status'),
        /CapEff:\s+0+\s[\s\S]*NoNewPrivs:\s+1/,
      );
    },
  ],
  [
    'the root and the program cannot be written, and nothing is setuid',
    async ({ inside }) => {
      for (const path of ['/new', '/opt/palisade/new', '/usr/share/palisade/new'])
        expect(await inside('touch', path), /Read-only file system/, 1);
      // It may not look into every folder.
      const found = await inside('sh', '-c', 'find / -xdev -perm /6000 -type f 2> /dev/null');
      expect(found, /^$/, null);
    },
  ],
  ['the health check says that calls are accepted', async ({ healthy }) => expect(await healthy(), /^/, 0)],
  [
    'a builtin tool answers by HTTP',
    async ({ inside }) => {
      const minted = await inside(
        'palisade',
        'token',
        'create',
        '--principal',
        'agent:ada',
        '--scopes',
        'call',
        '--json',
      );
      const { token } = JSON.parse(minted.output);
      const call = JSON.stringify({ tool: 'palisade.echo', input: { message: 'hello' } });
      expect(
        await inside('node', '--input-type=module', '-e', HTTP_CALL, token, call),
        /^200 [\s\S]*"hello"/,
      );
    },
  ],
  [
    'a command runs in a jail: another user, only its workspace to write',
    async ({ inside }) => {
      expect(await inside('palisade', 'exec', '--', 'sh', '-c', 'id -u; echo made > here; ls /'), /^1000$/m);
      expect(await inside('cat', '/work/here'), /^made$/m);
      expect(
        await inside('palisade', 'exec', '--', 'ls', '/var/lib/palisade/state'),
        /No such file|cannot access/,
        2,
      );
    },
  ],
  [
    'a command with an allow-list gets a network of its own',
    async ({ inside }) => {
      expect(
        await inside(
          'palisade',
          'exec',
          '--embedded',
          '--workspace',
          '/work',
          '--allow-host',
          'example.com',
          '--',
          'true',
        ),
        /^/,
      );
    },
  ],
  [
    'a skill in WebAssembly is installed, approved and called',
    async ({ inside }) => {
      await installSkill(inside);
      expect(await inside('palisade', 'call', 'acme.sample.plain', '--json'), /"code": ?"ok"/);
    },
  ],
  [
    '`palisade doctor` has tried every tier',
    async ({ inside }) => {
      const { tiers } = JSON.parse((await inside('palisade', 'doctor', '--json')).output);
      const trials = tiers
        .filter(({ name }) => name === 'trial')
        .map(({ tier, holds }) => `${tier} ${holds}`);
      if (trials.sort().join() !== 'a true,b true,c true') throw new Error(`it says ${trials.join(', ')}`);
    },
  ],
];

/** Where they are not: tier C refuses and says what to start the container with; the rest goes on. */
export function forbidden(remedy) {
  return [
    [
      '`palisade doctor` says what is missing, and the flag',
      async ({ inside }) => {
        const { tiers } = JSON.parse((await inside('palisade', 'doctor', '--json')).output);
        const lacks = tiers
          .filter(({ holds }) => !holds)
          .map(({ tier, name, detail, fix }) => `${tier} ${name} ${detail} ${fix}`);
        if (!lacks.some((each) => remedy.test(each))) throw new Error(`it says ${lacks.join('\n')}`);
        if (!lacks.some((each) => each.startsWith('c trial'))) throw new Error('it says that tier C works');
      },
    ],
    [
      'a command in tier C is refused with the same flag',
      async ({ inside }) => {
        const words = ['palisade', 'exec', '--', 'sh', '-c', 'echo ran > /work/ran'];
        // The first attempt finds out.
        await inside(...words);
        const refused = await inside(...words);
        if (refused.status === 0) throw new Error('it ran');
        expect(refused, remedy, null);
        if ((await inside('ls', '/work')).output.includes('ran')) throw new Error('it ran');
      },
    ],
    [
      'a skill runs under the limits of tier B, at the first call, and `palisade doctor` says so',
      async ({ inside }) => {
        await installSkill(inside);
        expect(await inside('palisade', 'call', 'acme.sample.plain', '--json'), /"code": ?"ok"/);
        expect(
          await inside('palisade', 'doctor'),
          /tier a: trial ran an engine process under the limits of tier B/,
        );
      },
    ],
    [
      'builtin tools answer, and the container is healthy',
      async ({ inside, healthy }) => {
        expect(await inside('palisade', 'call', 'palisade.echo', '--input', '{"message":"hello"}'), /hello/);
        expect(await healthy(), /^/, 0);
      },
    ],
  ];
}

async function installSkill(inside) {
  const ok = async (...words) => expect(await inside(...words), /^/);
  const [skill, key] = ['/tmp/sample.skill', '/tmp/acme.key'];
  await ok('palisade', 'skill', 'pack', '/sample', '--out', skill);
  await ok('palisade', 'skill', 'sign', skill, '--key', key, '--new-key');
  await ok('palisade', 'trust', 'add', 'acme', `${key}.pub.json`, '--yes');
  await ok('palisade', 'skill', 'install', skill);
  await ok('palisade', 'skill', 'approve', 'acme.sample', '--yes', '--reason', 'looked at it');
}

/** Throws unless the text is in the output, and the status is the one given; null is any. */
export function expect({ status, output }, text, wanted = 0) {
  if ((wanted === null || status === wanted) && text.test(output)) return;
  throw new Error(`status ${status}, expected ${wanted}; ${text} in:\n${output}`);
}

/** What a bundled package may expect of its surroundings. */
const COMMONJS = `import { createRequire } from 'node:module';
const [require, __filename, __dirname] = [createRequire(import.meta.url), import.meta.filename, import.meta.dirname];`;

/** Writes the skill that the tests install elsewhere too into a folder. */
export async function writeSample(root, folder) {
  const bundled = join(folder, '../sample.mjs');
  await build({
    entryPoints: [join(root, 'tests/fixtures/skills/sample.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['palisade-source'],
    outfile: bundled,
    absWorkingDir: root,
    banner: { js: COMMONJS },
    logLevel: 'error',
  });
  const { sampleFiles } = await import(bundled);
  for (const [path, bytes] of sampleFiles()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
}
