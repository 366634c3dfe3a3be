import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { VOLUME } from '../../tests/volume/volume.ts';
import { billOf } from '../release/bom.mjs';
import { buildLaunchers, launchersFile } from '../release/launchers.mjs';
import { LAUNCHER_FILE, PLATFORMS } from '../release/launchers.table.mjs';
import { notesOf, sectionOf } from '../release/notes.mjs';
import { packAll } from '../release/pack.mjs';
import { debianVersions, provenanceOf } from '../release/provenance.mjs';
import { buildPackages, makeStage } from '../release/stage.mjs';
import { makeRelease } from '../release.mjs';
import { plant } from './plant.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const VERSION: string = JSON.parse(readFileSync(join(ROOT, 'packages/gateway/package.json'), 'utf8')).version;
const IS_ROOT = process.getuid?.() === 0;
const silent = () => undefined;

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'palisade-release-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The sources of the launcher in another directory, as another clone has them. */
function otherSources(...below: readonly string[]): string {
  const root = join(scratch(), ...below);
  for (const path of ['packages/launcher/src', 'LICENSE'])
    cpSync(join(ROOT, path), join(root, path), { recursive: true });
  return root;
}

describe('buildLaunchers()', () => {
  test('makes the same bytes in different directories, and they run without any library', async () => {
    const [here, there] = [otherSources('a'), otherSources('another', 'much longer name of a directory')];
    const build = (root: string) => buildLaunchers(root, scratch(), VERSION);
    const [first, second] = [await build(here), await build(there)];
    expect(first.map(({ released }) => released)).toEqual(second.map(({ released }) => released));
    expect(first.map(({ released }) => released.package)).toEqual([
      '@palisade/launcher-linux-x64',
      '@palisade/launcher-linux-arm64',
    ]);
    for (const { folder, target } of first) {
      const bytes = readFileSync(join(folder, LAUNCHER_FILE));
      expect(bytes.readUInt16LE(18)).toBe(target.arch === 'x64' ? 62 : 183);
      expect(bytes.includes(here)).toBe(false);
      expect(interpreterOf(bytes)).toBe(false);
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      expect(manifest).toMatchObject({ version: VERSION, os: ['linux'], cpu: [target.arch] });
      expect(manifest).not.toHaveProperty('scripts');
      expect(readFileSync(join(folder, 'THIRD-PARTY-LICENSES'), 'utf8')).toContain('Copyright');
    }
  });

  test('names the package of Debian where a compiler is missing, or makes programs for another processor', async () => {
    const root = otherSources('a');
    const [x64, arm64] = PLATFORMS;
    const absent = { ...x64, compiler: 'no-such-gcc' } as never;
    await expect(buildLaunchers(root, scratch(), VERSION, [absent])).rejects.toThrow(
      'apt-get install musl-tools gcc linux-libc-dev musl-dev',
    );
    const wrong = { ...arm64, compiler: 'musl-gcc', headers: x64?.headers ?? [] } as never;
    await expect(buildLaunchers(root, scratch(), VERSION, [wrong])).rejects.toThrow(
      'Cannot build the launcher of linux-arm64 with musl-gcc: it makes programs for another processor',
    );
  });
});

const IDS = IS_ROOT ? ['uid=61000', 'gid=61000'] : [];
const SHELL = ['--', '/bin/sh', 'sh', '-c'];

/** What qemu 7.2 emulates of the launcher of arm64, and what it refuses, as steps of the launcher. */
const EMULATED = [
  {
    what: 'limits a command and takes its privileges',
    words: [
      'nofile=64',
      'fsize=1000',
      ...SHELL,
      'ulimit -n; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status',
    ],
    shows: '64\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n',
  },
  {
    what: 'gives a command its variables alone',
    words: ['set=A=b', '--', '/usr/bin/env', 'env'],
    shows: 'A=b\n',
  },
  ...(IS_ROOT
    ? [
        { what: 'becomes the user of the run', words: [...SHELL, 'id -u; id -g'], shows: '61000\n61000\n' },
        {
          what: 'makes a network with only loopback',
          words: ['net=1', ...SHELL, 'grep -c : /proc/net/dev; grep -o lo: /proc/net/dev'],
          shows: '1\nlo:\n',
        },
      ]
    : []),
] as const;
const NOT_EMULATED = [
  { what: 'Landlock', words: ['mode=exec', 'ro=/'], step: 'landlock' },
  { what: 'the supervision of a tree', words: ['wallms=5000'], step: 'subreaper' },
  { what: 'namespaces of processes and mounts', words: ['ns=1'], step: 'namespaces' },
] as const;

/** Runs the launcher of arm64; `npm run prove` alone has the emulator. */
async function emulate(words: readonly string[]) {
  const [, arm64] = PLATFORMS;
  const [built] = await buildLaunchers(ROOT, scratch(), VERSION, [arm64 as never]);
  const file = join(built?.folder ?? '', LAUNCHER_FILE);
  const child = spawn('qemu-aarch64-static', [file, ...IDS, 'status=3', ...words], {
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  });
  const [stdout, status, [exit]] = await Promise.all([
    text(child.stdout as Readable),
    text(child.stdio[3] as Readable),
    once(child, 'close'),
  ]);
  return { stdout, status, exit };
}

test.for(VOLUME === 1 ? EMULATED : [])('the launcher of arm64 under qemu $what', async ({ words, shows }) => {
  const { stdout, status, exit } = await emulate(['mode=exec', ...words]);
  expect(stdout, status).toBe(shows);
  expect(exit).toBe(0);
});

// Where an emulator learns one of these, this test says so, and the page on installation has to follow.
test.for(VOLUME === 1 ? NOT_EMULATED : [])(
  'the launcher of arm64 starts nothing where qemu lacks $what',
  async ({ words, step }) => {
    const { stdout, status, exit } = await emulate([...words, ...SHELL, 'echo started']);
    expect(status).toContain(`failed=${step} `);
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 125 });
  },
);

/** Whether a program needs a dynamic linker: one of its program headers is PT_INTERP. */
function interpreterOf(elf: Buffer): boolean {
  const [at, size, count] = [Number(elf.readBigUInt64LE(32)), elf.readUInt16LE(54), elf.readUInt16LE(56)];
  return Array.from({ length: count }, (_, index) => elf.readUInt32LE(at + index * size)).includes(3);
}

test('launchersFile() keeps the head of the file and lists what was built', () => {
  const path = join(ROOT, 'packages/gateway/src/tiers/process/launchers.generated.ts');
  const released = [{ platform: 'linux', arch: 'x64', package: 'p', sha256: 'ab' }];
  const text = launchersFile(readFileSync(path, 'utf8'), released);
  expect(text).toContain("import type { ReleasedLauncher } from './tier.ts';");
  expect(text).toContain('"sha256": "ab"');
  expect(text).not.toContain('null = null');
});

describe('the archives of a release', () => {
  let folder: string;
  let clone: string;
  const stages: string[] = [];
  const built: Awaited<ReturnType<typeof build>>[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'palisade-release-'));
    clone = join(folder, 'a clone elsewhere');
    copyClone(clone);
    built.push(await build(ROOT), await build(clone));
  });
  afterAll(() => {
    for (const path of [folder, ...stages]) rmSync(path, { recursive: true, force: true });
  });

  async function build(root: string) {
    const stage = makeStage(root);
    stages.push(stage);
    const platforms = PLATFORMS.slice(0, 1);
    const packages = await buildPackages(root, stage, {
      version: VERSION,
      say: silent,
      builds: ['gateway'],
      platforms,
    });
    const out = mkdtempSync(join(folder, 'out-'));
    await packAll(packages.folders, out);
    return { stage, out, ...packages };
  }
  const archives = (out: string) =>
    readdirSync(out).map((name) => [name, readFileSync(join(out, name)).toString('base64')]);

  test('are the same bytes from another clone', () => {
    const [first, second] = built.map(({ out }) => archives(out));
    expect(first?.map(([name]) => name)).toEqual([
      `palisade-${VERSION}.tgz`,
      `palisade-guest-${VERSION}.tgz`,
      `palisade-launcher-linux-x64-${VERSION}.tgz`,
    ]);
    expect(first).toEqual(second);
  });

  test('are the same bytes when they are packed later', async () => {
    const again = mkdtempSync(join(folder, 'out-'));
    const { folders = [], out = '' } = built[0] ?? {};
    for (const each of folders) utimesSync(join(each, 'package.json'), 1, 1);
    await packAll(folders, again);
    expect(archives(again)).toEqual(archives(out));
  });

  test('have a bill of what is bundled, installed and linked, each with its licence, and no time', () => {
    const { stage = '', launchers = [] } = built[0] ?? {};
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const libraries = PLATFORMS.slice(0, 1).map(({ arch, library }) => ({ ...library, arch, version: '1' }));
    const gateway = join(stage, 'packages/gateway');
    const bill = billOf({ gateway, lock, launchers, version: VERSION, libraries });
    expect(bill).toEqual(billOf({ gateway, lock, launchers, version: VERSION, libraries }));
    const names = bill.components.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['zod', 'kysely', 'libsql', '@libsql/linux-x64-gnu', 'musl']),
    );
    expect(names).toContain('@palisade/launcher-linux-x64');
    expect(names).not.toContain('vitest');
    const references = bill.components.map((each) => each['bom-ref']);
    expect(new Set(references).size).toBe(references.length);
    for (const { name, licenses } of bill.components) expect(licenses, name).toHaveLength(1);
    for (const { ref, dependsOn } of bill.dependencies)
      expect([...references, bill.metadata.component['bom-ref']]).toEqual(
        expect.arrayContaining([ref, ...dependsOn]),
      );
    const texts = readFileSync(join(gateway, 'THIRD-PARTY-LICENSES'), 'utf8');
    for (const { name, version, properties } of bill.components)
      if (JSON.stringify(properties).includes('"bundled"')) expect(texts).toContain(`${name} ${version} (`);
  });
});

/** What a release is built from, and the packages that a bundler reads, with none of what was built before. */
function copyClone(to: string): void {
  const bundled = JSON.parse(readFileSync(join(ROOT, 'packages/gateway/dist/.bundled.json'), 'utf8'));
  const names = bundled.map(({ name }: { name: string }) => name);
  const modules = [...names, 'esbuild', '@esbuild'].map((name) => `node_modules/${name}`);
  const pages = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const files = [
    'package.json',
    'package-lock.json',
    'tsconfig.base.json',
    'LICENSE',
    'tools',
    'docs',
    ...pages,
  ];
  const packages = ['gateway', 'sdk', 'wasm', 'guest', 'launcher'].map((name) => `packages/${name}`);
  for (const path of [...files, ...packages, ...modules]) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    const isModule = path.startsWith('node_modules');
    cpSync(join(ROOT, path), join(to, path), {
      recursive: true,
      filter: (from) => isModule || !/\/packages\/.*\/(dist|site|node_modules)(\.new|\.old)?$/.test(from),
    });
  }
  // What is not bundled decides on no name.
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!name.startsWith('.') && !existsSync(join(to, 'node_modules', name)))
      symlinkSync(join(ROOT, 'node_modules', name), join(to, 'node_modules', name));
  // As one who clones with another mask has it.
  chmodSync(join(to, 'packages/gateway/package.json'), 0o600);
  chmodSync(join(to, 'packages/gateway/bin/palisade.js'), 0o775);
}

describe('the notes of a release', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n- **New.** A thing.\n\n## 1.2.3 (2026-01-01)\n\n- Old.\n\n### More\n\nx\n';

  test('have the section of the version, with its own headings', () => {
    expect(sectionOf(changelog, 'Unreleased')).toBe('- **New.** A thing.');
    expect(sectionOf(changelog, '1.2.3')).toBe('- Old.\n\n### More\n\nx');
    expect(sectionOf(changelog, '1.2')).toBeUndefined();
    expect(sectionOf('## Unreleased\n\n## 1.0.0\n', 'Unreleased')).toBeUndefined();
  });

  test('say how to install and what to compare', () => {
    const section = '- Old ([docs/a.md](docs/a.md#b), [decision](docs/c.md), [SemVer](https://semver.org)).';
    const notes = notesOf({ version: '1.2.3', section, files: [{ name: 'a.tgz', sha256: 'ff' }] });
    expect(notes).toContain('npm install -g palisade@1.2.3');
    expect(notes).toContain('- Old (docs/a.md, decision (docs/c.md), [SemVer](https://semver.org)).');
    expect(notes).toContain('| `a.tgz` | `ff` |');
  });
});

test('provenanceOf() states the files, the source and the compilers', async () => {
  const packages = await debianVersions(['musl-tools', 'gcc-aarch64-linux-gnu']);
  expect(Object.keys(packages)).toEqual(['gcc-aarch64-linux-gnu', 'musl-tools']);
  const statement = provenanceOf({
    subjects: [{ name: 'a.tgz', sha256: 'ff' }],
    version: VERSION,
    source: { commit: 'c0ffee', isClean: true, tags: [] },
    lock: 'aa',
    tools: { node: '20' },
    packages,
  });
  expect(statement).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'a.tgz', digest: { sha256: 'ff' } }],
    predicateType: 'https://slsa.dev/provenance/v1',
  });
  const { resolvedDependencies } = statement.predicate.buildDefinition;
  expect(resolvedDependencies).toContainEqual({
    name: 'source',
    digest: { gitCommit: 'c0ffee' },
    annotations: { clean: true },
  });
  expect(resolvedDependencies).toContainEqual({ uri: `pkg:deb/debian/musl-tools@${packages['musl-tools']}` });
});

describe('makeRelease() refuses', () => {
  const manifest = (version: string) => JSON.stringify({ version });
  const files = (changes: Readonly<Record<string, string>> = {}) => ({
    ...Object.fromEntries(
      ['gateway', 'sdk', 'wasm', 'guest'].map((name) => [`packages/${name}/package.json`, manifest(VERSION)]),
    ),
    'packages/gateway/src/version.ts': `export const VERSION = '${VERSION}';`,
    'CHANGELOG.md': `## ${VERSION}\n\n- It is out.\n`,
    ...changes,
  });

  test.each([
    [
      'packages of different versions',
      { 'packages/sdk/package.json': manifest('1.2.2') },
      'packages/sdk/package.json has 1.2.2',
    ],
    [
      'another version in the sources',
      { 'packages/gateway/src/version.ts': "'9.9.9'" },
      'packages/gateway/src/version.ts',
    ],
    ['a folder that is no clone', {}, 'Run it in a clone, with git.'],
  ])('%s', async (_, changes, named) => {
    const root = plant(files(changes));
    const outDir = join(root, 'out');
    await expect(makeRelease({ root, outDir, isDry: true, say: silent })).rejects.toThrow(named);
    expect(readdirSync(root).filter((name) => name.startsWith('.release-'))).toEqual([]);
  });
});
