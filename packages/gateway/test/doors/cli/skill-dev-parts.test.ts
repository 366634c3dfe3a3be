import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compilerProblems, withPlaces } from '../../../src/doors/cli/skill/compiler-problems.ts';
import { changedFiles, watchFolder } from '../../../src/doors/cli/skill/watch-folder.ts';
import { makeScratch } from './palisade.ts';

const ASC = `ERROR TS2322: Type 'i32' is not assignable to type 'string'.
    :
 12 │ const a: string = 1;
    │                   ^
    └─ in src/skill.ts(12,19)

FAILURE 1 compile error(s)`;
const CLANG = `src/skill.c:3:5: error: use of undeclared identifier 'liens'
    liens++;
    ^
src/skill.c:4:1: warning: unused
1 error generated.`;
const RUSTC = `error[E0425]: cannot find value \`liens\` in this scope
  --> src/skill.rs:7:9
   |
7  |         liens += 1;

error: aborting due to previous error`;

describe('compilerProblems()', () => {
  test.each([
    ['asc', ASC, 'src/skill.ts', 12, 19, "Type 'i32' is not assignable"],
    ['clang', CLANG, 'src/skill.c', 3, 5, 'use of undeclared identifier'],
    ['rustc', RUSTC, 'src/skill.rs', 7, 9, 'cannot find value'],
  ])('finds the place and the message in the output of %s', (_, output, file, line, column, message) => {
    expect(compilerProblems(output)).toMatchObject([
      { file, line, column, message: expect.stringContaining(message) },
    ]);
  });

  test('finds nothing in other text, and not more than a person reads in a flood', () => {
    expect(compilerProblems('it is 12:30:15: all is well?\nno: place')).toHaveLength(0);
    expect(compilerProblems('a.c:1:1: error: x\n'.repeat(10_000))).toHaveLength(50);
  });

  test('writes the places of asc as editors open them', () => {
    expect(withPlaces(ASC)).toContain('└─ src/skill.ts:12:19');
  });
});

describe('watchFolder()', () => {
  const scratch = makeScratch();
  const NEVER = new AbortController().signal;
  const folderWith = (name: string) => {
    const folder = join(scratch, name);
    mkdirSync(join(folder, 'src'), { recursive: true });
    writeFileSync(join(folder, 'src/skill.c'), 'one');
    return folder;
  };

  test('sees what was added, changed and removed, and nothing of what is ours or hidden', async () => {
    const folder = folderWith('seen');
    writeFileSync(join(folder, 'old.md'), '');
    const watched = watchFolder(folder, (path) => path === 'skill.wasm');
    const before = watched.look();
    const next = watched.next(before, NEVER);
    for (const name of ['.hidden', 'skill.wasm', 'text.skill', 'acme.key', 'new.json'])
      writeFileSync(join(folder, name), '');
    writeFileSync(join(folder, 'src/skill.c'), 'two');
    rmSync(join(folder, 'old.md'));
    const after = await next;
    expect(after === null ? [] : changedFiles(before, after)).toEqual(['new.json', 'old.md', 'src/skill.c']);
  });

  test('looks at links and never through them', () => {
    const folder = folderWith('linked');
    symlinkSync('/', join(folder, 'src/everything'));
    expect([
      ...watchFolder(folder, () => false)
        .look()
        .keys(),
    ]).toEqual(['src/everything', 'src/skill.c']);
  });

  test('refuses a folder that is gone, and another one under its name', () => {
    const folder = folderWith('gone');
    const watched = watchFolder(folder, () => false);
    renameSync(folder, `${folder}-away`);
    expect(() => watched.look()).toThrow('it is gone');
    mkdirSync(folder);
    expect(() => watched.look()).toThrow('it is gone');
  });

  test('refuses a folder with far more files than a skill has', () => {
    const folder = folderWith('many');
    for (let n = 0; n < 4; n += 1) writeFileSync(join(folder, `${n}.txt`), '');
    expect(watchFolder(folder, () => false, 5).look().size).toBe(5);
    expect(() => watchFolder(folder, () => false, 4).look()).toThrow('more than 4 files');
  });

  test('ends where the signal fires', async () => {
    const folder = folderWith('ended');
    const stop = new AbortController();
    const watched = watchFolder(folder, () => false);
    const next = watched.next(watched.look(), stop.signal);
    stop.abort();
    expect(await next).toBeNull();
  });
});
