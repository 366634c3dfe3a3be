import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  buildLauncher,
  COMPILER_ARGUMENTS,
  isLauncherCurrent,
  LAUNCHER,
  programFiles,
} from '../launcher.mjs';
import { plant, type Tree } from './plant.ts';

const source = 'packages/launcher/src/main.c';
const prebuilt = 'packages/launcher/prebuilt/linux-x64/palisade-launcher';

/** A clone with a compiler that copies its source and writes its words down; `works` is false for one that fails. */
function clone(files: Tree, works: boolean | null) {
  const root = plant({ [source]: 'int main(void) { return 0; }\n', ...files });
  const folder = join(root, 'compilers');
  mkdirSync(folder);
  if (works !== null) {
    const script = works
      ? `echo "$@" >> ${root}/words; while [ "$1" != -o ]; do shift; done; cp "$3" "$2"`
      : 'echo "cannot find -lc"; exit 1';
    writeFileSync(join(folder, 'cc'), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
    chmodSync(join(folder, 'cc'), 0o755);
  }
  const said: string[] = [];
  const machine = { platform: 'linux', arch: 'x64', path: folder } as const;
  const build = () => buildLauncher(root, { say: (what: string) => said.push(what), machine });
  return { root, machine, said, build, made: join(root, LAUNCHER) };
}

describe('buildLauncher()', () => {
  test('compiles once, and again only when the source has changed', async () => {
    const { root, machine, said, build, made } = clone({}, true);
    expect(isLauncherCurrent(root, machine)).toBe(false);
    await build();
    await build();
    expect(said).toEqual(['launcher (cc)']);
    expect(readFileSync(join(root, 'words'), 'utf8')).toContain(COMPILER_ARGUMENTS.join(' '));
    expect(statSync(made).mode & 0o777).toBe(0o755);
    expect(isLauncherCurrent(root, machine)).toBe(true);
    writeFileSync(join(root, source), 'int main(void) { return 1; }\n');
    expect(isLauncherCurrent(root, machine)).toBe(false);
    await build();
    expect(readFileSync(made, 'utf8')).toContain('return 1');
    expect(readdirSync(join(made, '..')).sort()).toEqual(['.sources', 'palisade-launcher']);
  });

  test('compiles all C files together, and again when a header has changed', async () => {
    const header = 'packages/launcher/src/plan.h';
    const { root, machine, build } = clone(
      { 'packages/launcher/src/plan.c': '', [header]: '#pragma once\n' },
      true,
    );
    await build();
    const files = programFiles(root);
    expect(files).toEqual([source, 'packages/launcher/src/plan.c']);
    expect(readFileSync(join(root, 'words'), 'utf8')).toContain(files.join(' '));
    writeFileSync(join(root, header), '#pragma once\nextern int limit;\n');
    expect(isLauncherCurrent(root, machine)).toBe(false);
  });

  test('makes it again when the file is gone', async () => {
    const { root, machine, build, made } = clone({}, true);
    await build();
    rmSync(made);
    expect(isLauncherCurrent(root, machine)).toBe(false);
    await build();
    expect(existsSync(made)).toBe(true);
  });

  test.each([
    ['there is no compiler', null],
    ['the compiler fails', false],
  ])('copies the prebuilt file where %s', async (_, works) => {
    const { said, build, made } = clone({ [prebuilt]: 'prebuilt\n' }, works);
    await build();
    await build();
    expect(said).toEqual(['launcher (prebuilt)']);
    expect(readFileSync(made, 'utf8')).toBe('prebuilt\n');
  });

  test('goes on with the next compiler where one fails', async () => {
    const { root, said, build } = clone({}, true);
    const first = join(root, 'compilers/musl-gcc');
    writeFileSync(first, '#!/bin/sh\necho "no headers"; exit 1\n');
    chmodSync(first, 0o755);
    await build();
    expect(said).toEqual(['launcher (cc)']);
  });

  test.each([
    ['no compiler', null, 'no C compiler and no prebuilt file was found'],
    ['a compiler that fails', false, 'cannot find -lc'],
  ])('names the fix where there is %s and no prebuilt file', async (_, works, what) => {
    const { build, made } = clone({}, works);
    const failure = await build().then(
      () => '',
      (error: Error) => error.message,
    );
    expect(failure).toMatch(/^Cannot build the launcher: /);
    expect(failure).toContain(what);
    expect(failure).toContain('apt-get install gcc libc6-dev');
    expect(existsSync(made)).toBe(false);
  });

  test('has nothing to do elsewhere than on Linux', async () => {
    const { root, machine, said, made } = clone({}, null);
    const mac = { ...machine, platform: 'darwin' } as const;
    await buildLauncher(root, { say: (what: string) => said.push(what), machine: mac });
    expect(isLauncherCurrent(root, mac)).toBe(true);
    expect([said, existsSync(made)]).toEqual([[], false]);
  });
});
