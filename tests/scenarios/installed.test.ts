import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { VERSION } from '../../packages/gateway/src/version.ts';
import { makeRelease, packedIn, type Release, startRegistry } from '../fixtures/installed/release.ts';
import { makeUser, type User, WHO } from '../fixtures/installed/user.ts';
import { request } from '../fixtures/mcp/wire.ts';
import { sampleFiles } from '../fixtures/skills/sample.ts';
import { asking } from '../fixtures/upstreams/wrapped-client.ts';

/*
 * Palisade as it is installed: from the archives of a release, in an empty directory, without a compiler. npm fetches from
 * a registry on loopback that has the release and the packages of this clone, so nothing depends on a network.
 */

let release: Release;
let registry: Awaited<ReturnType<typeof startRegistry>>;
beforeAll(async () => {
  release = await makeRelease();
  registry = await startRegistry(release.folder);
});
afterAll(async () => {
  await registry?.stop();
  release?.remove();
});

const LAUNCHER = `@palisade/launcher-${process.platform}-${process.arch}`;

/** The ways to install, one for each user: with a global prefix, and in a project from the archives. */
const WAYS = {
  'an ordinary user': {
    words: () => ['npm', 'install', '--global', 'palisade'],
    modules: 'global/lib/node_modules',
    // npm keeps what a global package needs below it.
    needed: 'global/lib/node_modules/palisade/node_modules',
    program: 'global/bin/palisade',
    again: () => ['--global'],
  },
  root: {
    words: (folder: string) => [
      ...['npm', 'install'],
      ...['palisade', 'palisade-guest', LAUNCHER.slice(1).replace('/', '-')].map((name) =>
        join(folder, `${name}-${VERSION}.tgz`),
      ),
    ],
    modules: 'project/node_modules',
    needed: 'project/node_modules',
    program: 'project/node_modules/.bin/palisade',
    again: (modules: string) => ['--prefix', dirname(modules)],
  },
} as const;

async function ok(running: ReturnType<User['run']>) {
  const finished = await running;
  expect(finished.status, `${finished.out}${finished.err}`).toBe(0);
  return finished;
}

/** Every file below a folder. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

describe.each(WHO)('palisade, installed by %s', (who) => {
  const way = WAYS[who];
  let user: User;
  let [modules, needed, program, workspace] = ['', '', '', ''];
  const palisade = (...words: readonly string[]) => user.run([program, ...words], { cwd: workspace });
  beforeAll(async () => {
    user = makeUser(who, registry.url);
    [modules, needed, program, workspace] = [
      join(user.home, way.modules),
      join(user.home, way.needed),
      join(user.home, way.program),
      join(user.home, 'site'),
    ];
    for (const folder of ['project', 'site']) {
      mkdirSync(join(user.home, folder));
      user.own(join(user.home, folder));
    }
    writeFileSync(join(workspace, 'package.json'), '{}');
    await ok(user.run([...way.words(release.folder)], { cwd: join(user.home, 'project') }));
  });
  afterAll(() => user?.remove());

  test('was installed without a compiler and without a script, and takes at most 60 MB', async () => {
    const compilers = ['cc', 'gcc', 'clang', 'musl-gcc', 'tcc', 'make', 'g++'];
    const looked = await user.run(['sh', '-c', compilers.map((name) => `command -v ${name}`).join('; ')]);
    expect(looked.out).toBe('');
    const installed = new Set([...readdirSync(modules), ...readdirSync(needed)]);
    expect([...installed].filter((name) => !name.startsWith('.')).sort()).toEqual(
      ['@cedar-policy', '@libsql', '@neon-rs', '@palisade', 'detect-libc', 'libsql', 'palisade'].sort(),
    );
    const manifests = filesIn(modules).filter((path) => path.endsWith('/package.json'));
    for (const path of manifests) {
      const { scripts = {} } = JSON.parse(readFileSync(path, 'utf8'));
      for (const name of ['preinstall', 'install', 'postinstall'])
        expect(scripts, path).not.toHaveProperty(name);
    }
    const bytes = filesIn(modules).reduce((sum, path) => sum + statSync(path).size, 0);
    expect(bytes).toBeLessThan(60_000_000);
    expect((await ok(palisade('--version'))).out).toBe(`${VERSION}\n`);
  });

  test('is set up by `init`, and runs a command in a jail', async () => {
    const { err, out } = await ok(palisade('init', '--yes'));
    expect(`${out}${err}`).toContain('palisade doctor');
    const { out: tiers } = await palisade('doctor', '--json');
    const rows = JSON.parse(tiers).tiers as {
      tier: string | null;
      name: string;
      holds: boolean;
      detail: string;
    }[];
    const launcher = rows.find(({ name }) => name === 'launcher');
    expect(launcher?.detail).toContain(join(needed, LAUNCHER, 'palisade-launcher'));
    const trials = rows.filter(({ name }) => name === 'trial').map(({ tier, holds }) => [tier, holds]);
    expect(trials).toEqual(
      expect.arrayContaining([
        ['b', true],
        ['c', true],
      ]),
    );
    expect(trials).not.toContainEqual([expect.anything(), false]);
    const inside = await ok(palisade('exec', '--', 'sh', '-c', 'echo made > here; ls -A ..; id -u'));
    expect(inside.out).not.toContain('global');
    expect(inside.out).not.toMatch(/^0$/m);
    expect(readFileSync(join(workspace, 'here'), 'utf8')).toBe('made\n');
    const { out: here } = await user.run([program, 'doctor'], { cwd: join(user.home, 'project') });
    const isInWorkspace = `${modules}/palisade lies in the workspace`;
    expect(here.includes(isInWorkspace)).toBe(way.modules.startsWith('project/'));
    const outside = await palisade('exec', '--', 'sh', '-c', `echo no > ${user.home}/planted`);
    expect(outside.status).not.toBe(0);
    expect(readdirSync(user.home)).not.toContain('planted');
  });

  test('runs a skill in WebAssembly', async () => {
    const folder = join(user.home, 'sample');
    for (const [path, bytes] of sampleFiles()) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
    user.own(folder);
    const [skill, key] = [join(user.home, 'sample.skill'), join(user.home, 'acme.key')];
    await ok(palisade('skill', 'pack', folder, '--out', skill));
    await ok(palisade('skill', 'sign', skill, '--key', key, '--new-key'));
    await ok(palisade('trust', 'add', 'acme', `${key}.pub.json`, '--yes'));
    await ok(palisade('skill', 'install', skill));
    await ok(palisade('skill', 'approve', 'acme.sample', '--yes', '--reason', 'looked at it'));
    const { out } = await ok(palisade('call', 'acme.sample.plain', '--json'));
    expect(JSON.parse(out)).toMatchObject({ code: 'ok', output: [1, 2] });
    // The library for authors came along.
    await ok(palisade('skill', 'new', join(user.home, 'greeter'), '--language', 'c', '--publisher', 'me'));
  });

  test('serves agents over HTTP, and over MCP with and without a daemon', async () => {
    const alone = await talk(user, program, workspace);
    expect(alone.tools).toContain('palisade_process_run');
    expect(alone.said).toContain('hello from inside');
    const minted = await ok(palisade('token', 'create', '--principal', 'agent:ada', '--json'));
    const { token } = JSON.parse(minted.out) as { token: string };
    const daemon = user.start([program, 'serve', '--listen', '127.0.0.1:0', '--json'], { cwd: workspace });
    const ended = once(daemon, 'close');
    onTestFinished(async () => {
      daemon.kill('SIGTERM');
      await ended;
    });
    const [line] = (await once(createInterface({ input: daemon.stdout as Readable }), 'line')) as [string];
    const { url } = JSON.parse(line) as { url: string };
    const pages = await fetch(new URL('/docs', url));
    expect([pages.status, await pages.text()]).toEqual([200, expect.stringContaining('<h1')]);
    const call = { name: 'palisade_echo', arguments: { message: 'hello' } };
    const { result } = await request<object>(new URL('/mcp', url), token, 'tools/call', call);
    expect(result).toMatchObject({ structuredContent: { message: 'hello' } });
    expect((await talk(user, program, workspace)).said).toContain('hello from inside');
    await ok(palisade('journal', 'verify'));
  });

  test('refuses a launcher that is not its own, and one that is missing, and names the command that helps', async () => {
    const [folder, aside] = [join(needed, LAUNCHER), join(user.home, 'aside')];
    const install = ['npm', 'install', ...way.again(modules), `${LAUNCHER}@${VERSION}`];
    const file = join(folder, 'palisade-launcher');
    const kept = readFileSync(file);
    const agent = await startAgent(user, program, workspace);
    expect(await agent.say('hello')).toContain('hello from inside');
    // The kernel lets no one write to a program that runs, but another can take its place.
    copyFileSync('/bin/true', `${file}.new`);
    renameSync(`${file}.new`, file);
    // Also of a gateway that has used the right one before.
    expect(await agent.say('again')).toContain('is not the launcher of palisade');
    await agent.end();
    const swapped = await palisade('exec', '--', 'true');
    expect(swapped.status).not.toBe(0);
    expect(swapped.err).toContain(`"${file}" is not the launcher of palisade ${VERSION}`);
    expect(swapped.err).toContain(`Remove ${folder}`);

    renameSync(folder, aside);
    // Neither Node's own search for packages nor the search path leads to another one.
    const evil = join(user.home, 'evil', LAUNCHER);
    mkdirSync(evil, { recursive: true });
    copyFileSync('/bin/true', join(evil, 'palisade-launcher'));
    user.own(join(user.home, 'evil'));
    const env = { NODE_PATH: join(user.home, 'evil'), PATH: `${evil}:${user.env.PATH}` };
    const missing = await user.run([program, 'exec', '--', 'true'], { cwd: workspace, env });
    expect(missing.status).not.toBe(0);
    expect(missing.err).toContain(`${LAUNCHER} is not installed`);
    const shown = install.join(' ').replace('--global', '-g');
    expect(missing.err).toContain(`Run \`${shown}\``);
    await ok(palisade('call', 'palisade.echo', '--input', '{"message":"still here"}'));

    await ok(user.run(install, { cwd: join(user.home, 'project') }));
    expect(readFileSync(join(modules, LAUNCHER, 'palisade-launcher')).equals(kept)).toBe(true);
    await ok(palisade('exec', '--', 'true'));
  });

  test('takes back all that it made with `uninstall`', async () => {
    const { out } = await ok(palisade('config', 'show', '--json'));
    const { settings } = JSON.parse(out) as { settings: readonly { key: string; value: string }[] };
    const stateDir = settings.find(({ key }) => key === 'state')?.value ?? '';
    expect(readdirSync(stateDir)).toContain('palisade.db');
    await ok(palisade('uninstall', '--purge', '--yes'));
    expect(() => readdirSync(stateDir)).toThrow('ENOENT');
  });
});

/** An agent that starts `palisade mcp`. */
async function startAgent(user: User, program: string, cwd: string) {
  const child = user.start([program, 'mcp', '--as', 'agent:ada'], { cwd });
  const ended = once(child, 'close');
  let err = '';
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  const { greet, ask } = asking(child.stdin as Writable, child.stdout as Readable);
  await greet();
  const say = async (word: string) => {
    const input = { command: 'sh', args: ['-c', `echo ${word} from inside`] };
    const { result, error } = await ask('tools/call', { name: 'palisade_process_run', arguments: input });
    return JSON.stringify(result ?? error);
  };
  const end = async () => {
    child.stdin?.end();
    const [status] = (await ended) as [number | null];
    expect(status, err).toBe(0);
  };
  return { ask, say, end };
}

/** One that looks at its tools, runs a command and leaves. */
async function talk(user: User, program: string, cwd: string) {
  const { ask, say, end } = await startAgent(user, program, cwd);
  const listed = await ask('tools/list');
  const said = await say('hello');
  await end();
  return { tools: ((listed.result?.tools ?? []) as { name: string }[]).map(({ name }) => name), said };
}

test('npm installs it on systems that have no launcher', async () => {
  const user = makeUser('an ordinary user', registry.url);
  onTestFinished(() => user.remove());
  for (const words of [
    ['--os=darwin', '--cpu=arm64'],
    ['--os=linux', '--cpu=riscv64'],
  ]) {
    const folder = join(user.home, words.join(''));
    mkdirSync(folder);
    user.own(folder);
    await ok(user.run(['npm', 'install', 'palisade', ...words], { cwd: folder }));
    expect(readdirSync(join(folder, 'node_modules/@palisade'))).toEqual(['guest']);
  }
});

test('the archives have no map of sources, no test and no stamp, and name what is bundled', () => {
  const packed = packedIn(release.folder);
  const { manifest } = packed.get('palisade') as unknown as {
    manifest: Record<string, Record<string, string>>;
  };
  expect(Object.keys(manifest.dependencies ?? {})).toEqual([
    '@cedar-policy/cedar-wasm',
    '@palisade/guest',
    'libsql',
  ]);
  expect(manifest.optionalDependencies).toMatchObject({ [LAUNCHER]: VERSION });
});
