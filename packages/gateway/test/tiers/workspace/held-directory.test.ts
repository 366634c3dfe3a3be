import {
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CodedError } from '../../../src/core/coded-error.ts';
import { holdWorkspace } from '../../../src/tiers/workspace/held-directory.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

function isOpen(fd: number, path: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`) === path;
  } catch {
    return false;
  }
}

function openBelow(directory: string): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return links.filter((path) => path.startsWith(directory)).length;
}

test('holdWorkspace() holds the directory and says whose it is, until it is closed', () => {
  const path = tempDir();
  const held = holdWorkspace(path);
  expect(held.owner).toEqual({ uid: process.getuid?.(), gid: process.getgid?.() });
  expect(isOpen(held.fd, path)).toBe(true);
  held.close();
  expect(openBelow(path)).toBe(0);
});

test('holdWorkspace() leads to the same directory after its path was given to another', () => {
  const base = tempDir();
  const [path, aside] = [join(base, 'work'), join(base, 'aside')];
  mkdirSync(path);
  writeFileSync(join(path, 'mine'), '');
  const held = holdWorkspace(path);
  expect(held.isInPlace()).toBe(true);
  renameSync(path, aside);
  expect(held.isInPlace()).toBe(false);
  symlinkSync('/etc', path);
  expect(held.isInPlace()).toBe(false);
  expect(readdirSync(`/proc/self/fd/${held.fd}`)).toEqual(['mine']);
  held.close();
});

/** Each makes something else of `<base>/up/work`, and says what is found there instead. */
const SWAPS: readonly [string, (base: string) => void, RegExp][] = [
  ['is gone', (base) => rmSync(join(base, 'up/work'), { recursive: true }), /fails with ENOENT/],
  [
    'is a file by now',
    (base) => {
      rmSync(join(base, 'up/work'), { recursive: true });
      writeFileSync(join(base, 'up/work'), '');
    },
    /fails with ENOTDIR/,
  ],
  [
    'is a link by now',
    (base) => {
      renameSync(join(base, 'up/work'), join(base, 'aside'));
      symlinkSync(join(base, 'aside'), join(base, 'up/work'));
    },
    /fails with (ENOTDIR|ELOOP)/,
  ],
  [
    'lies behind a link by now',
    (base) => {
      renameSync(join(base, 'up'), join(base, 'aside'));
      symlinkSync(join(base, 'aside'), join(base, 'up'));
    },
    /leads to another directory/,
  ],
];

test.each(SWAPS)('holdWorkspace() refuses a workspace that %s, and leaves nothing open', (_, swap, words) => {
  const base = tempDir();
  mkdirSync(join(base, 'up/work'), { recursive: true });
  const path = join(base, 'up/work');
  holdWorkspace(path).close();
  swap(base);
  expect(() => holdWorkspace(path)).toThrow(CodedError);
  expect(() => holdWorkspace(path)).toThrow(words);
  expect(openBelow(base)).toBe(0);
});
