import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { findLauncher, launchersOf } from '../../../src/tiers/process/launcher.ts';
import { VERSION } from '../../../src/version.ts';
import { LAUNCHER, machine, openDirectory } from './machine-sample.ts';

const NAME = '@palisade/launcher-linux-x64';
const sha256Of = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** What npm makes of a global installation, with the launcher of the set-up as that of the release. */
function install({ folder = 'lib/node_modules', version = VERSION } = {}) {
  const packages = join(openDirectory(), folder);
  const launcher = join(packages, NAME, 'palisade-launcher');
  mkdirSync(dirname(launcher), { recursive: true });
  mkdirSync(join(packages, 'palisade/dist'), { recursive: true });
  writeFileSync(join(packages, 'palisade/package.json'), '{}');
  writeFileSync(join(dirname(launcher), 'package.json'), JSON.stringify({ name: NAME, version }));
  copyFileSync(LAUNCHER, launcher);
  chmodSync(launcher, 0o755);
  const released = [{ platform: 'linux', arch: 'x64', package: NAME, sha256: sha256Of(LAUNCHER) }];
  const url = pathToFileURL(join(packages, 'palisade/dist/open.js')).href;
  const find = (changes = {}) => {
    const launchers = launchersOf(url, '../../launcher/dist/palisade-launcher', released);
    return findLauncher(machine({ launchers, arch: 'x64', ...changes }));
  };
  return { packages, launcher, released, url, find };
}

function lackOf({ find }: ReturnType<typeof install>, changes = {}) {
  const found = find(changes);
  if (found.ok) throw new Error(`"${found.value.path}" was taken`);
  return found.problem;
}

describe('findLauncher() in a release', () => {
  test('takes the launcher that was built with it', () => {
    const { find, launcher } = install();
    expect(find()).toEqual({ ok: true, value: { path: launcher, sha256: sha256Of(LAUNCHER) } });
  });

  test('refuses another program in its place, and names both digests', () => {
    const installed = install();
    copyFileSync('/bin/true', installed.launcher);
    const { why, fix } = lackOf(installed);
    expect(why).toContain(`"${installed.launcher}" is not the launcher of palisade ${VERSION}`);
    expect(why).toContain(sha256Of('/bin/true').slice(0, 16));
    expect(why).toContain(sha256Of(LAUNCHER).slice(0, 16));
    expect(fix).toContain(`Remove ${dirname(installed.launcher)}`);
    expect(fix).toContain(`npm install -g ${NAME}@${VERSION}`);
  });

  test('refuses one with a single changed byte', () => {
    const installed = install();
    const bytes = readFileSync(installed.launcher);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(installed.launcher, bytes);
    expect(lackOf(installed).why).toContain('is not the launcher');
  });

  test('refuses that of another version, and says which is expected', () => {
    const installed = install({ version: '9.9.9' });
    copyFileSync('/bin/true', installed.launcher);
    expect(lackOf(installed)).toEqual({
      why: `"${installed.launcher}" is of version 9.9.9, expected ${VERSION}`,
      fix: `Run \`npm install -g ${NAME}@${VERSION}\`.`,
    });
  });

  test('prints nothing of a version that is not one', () => {
    const installed = install({ version: '\u001b[2J' });
    copyFileSync('/bin/true', installed.launcher);
    expect(lackOf(installed).why).toContain('is not the launcher');
  });

  test.each([
    ['a global installation', 'lib/node_modules', () => '-g'],
    ['a project', 'project/node_modules', (packages: string) => `--prefix ${dirname(packages)}`],
  ])('names the command that installs what is missing in %s', (_, folder, where) => {
    const installed = install({ folder });
    renameSync(join(installed.packages, '@palisade'), join(installed.packages, 'gone'));
    expect(lackOf(installed)).toEqual({
      why: `${NAME} is not installed`,
      fix: `Run \`npm install ${where(installed.packages)} ${NAME}@${VERSION}\`.`,
    });
  });

  test('refuses a launcher that a group can write to, with the right bytes', () => {
    const installed = install();
    chmodSync(installed.launcher, 0o775);
    expect(lackOf(installed).why).toBe(`"${installed.launcher}" can be changed by others`);
  });

  test('follows a link of a package to where it leads, and judges what is there', () => {
    const installed = install();
    const elsewhere = join(openDirectory(), 'elsewhere');
    renameSync(join(installed.packages, NAME), elsewhere);
    symlinkSync(elsewhere, join(installed.packages, NAME));
    const real = join(elsewhere, 'palisade-launcher');
    expect(installed.find()).toMatchObject({ ok: true, value: { path: real } });
    copyFileSync('/bin/true', real);
    expect(lackOf(installed).why).toContain(`"${real}" is not the launcher`);
    copyFileSync(LAUNCHER, real);
    chmodSync(elsewhere, 0o777);
    expect(lackOf(installed).why).toBe(`"${real}" can be replaced by others in "${elsewhere}"`);
  });

  test('does not go on to another folder when the nearest has a wrong one', () => {
    const installed = install();
    const nearest = join(installed.packages, 'palisade/node_modules', NAME, 'palisade-launcher');
    mkdirSync(dirname(nearest), { recursive: true });
    copyFileSync('/bin/true', nearest);
    expect(lackOf(installed).why).toContain(`"${nearest}" is not the launcher`);
  });

  test('looks neither on the search path, nor where Node is told to look, nor where a clone has its own', () => {
    const installed = install();
    const { packages } = installed;
    renameSync(join(packages, '@palisade'), join(packages, 'bin'));
    const planted = join(packages, 'bin/launcher-linux-x64');
    mkdirSync(join(packages, 'launcher/dist'), { recursive: true });
    copyFileSync(LAUNCHER, join(packages, 'launcher/dist/palisade-launcher'));
    vi.stubEnv('PATH', planted);
    vi.stubEnv('NODE_PATH', join(packages, 'bin'));
    try {
      expect(lackOf(installed).why).toBe(`${NAME} is not installed`);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('names the platforms that have one, where this one has none', () => {
    const installed = install();
    expect(lackOf(installed, { arch: 'riscv64' })).toEqual({
      why: 'there is no launcher for linux-riscv64',
      fix: 'Run palisade on linux-x64, or in a clone, where `npm run setup` builds the launcher.',
    });
    expect(lackOf(installed, { platform: 'darwin' }).why).toBe('commands need Linux');
  });
});

test('findLauncher() in a clone takes the launcher of the set-up, whatever its digest', () => {
  const base = openDirectory();
  const launcher = join(base, 'launcher/dist/palisade-launcher');
  mkdirSync(dirname(launcher), { recursive: true });
  const url = pathToFileURL(join(base, 'gateway/dist/open.js')).href;
  const find = () => {
    const launchers = launchersOf(url, '../../launcher/dist/palisade-launcher', null);
    return findLauncher({ launchers });
  };
  expect(find()).toMatchObject({ ok: false, problem: { why: 'the launcher is not built' } });
  copyFileSync('/bin/true', launcher);
  expect(find()).toMatchObject({ ok: true, value: { path: launcher } });
});
