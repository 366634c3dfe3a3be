import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Descriptor } from '../../../src/tiers/child/child.ts';
import { openDescriptors, type Sources } from '../../../src/tiers/process/descriptors.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

/** A launcher's file and an open workspace, with the given sources in their place. */
function sources(changes: Partial<Sources> = {}): Sources & { readonly directory: string } {
  const directory = tempDir();
  const [launcher, workspace] = [join(directory, 'launcher'), join(directory, 'work')];
  writeFileSync(launcher, 'launcher');
  mkdirSync(workspace);
  const workspaceFd = openSync(workspace, 'r');
  onTestFinished(() => closeSync(workspaceFd));
  return { args: [], launcher, workspaceFd, cgroupFds: [], ...changes, directory };
}

/** What this process has open below a directory: others of its descriptors come and go. */
function openBelow(directory: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(directory) ? [path] : [];
    } catch {
      // The one that lists them.
      return [];
    }
  });
}

test('openDescriptors() turns each role into what the child finds there, in the order of the plan', () => {
  const supplied = sources({ args: ['--bind', 'a b', ''], cgroupFds: [70, 71] });
  const filter = Uint8Array.of(1, 2, 3);
  const roles: Descriptor[] = [
    { role: 'args' },
    { role: 'bytes', name: 'seccomp', bytes: filter },
    { role: 'bytes', name: '/etc/hosts', bytes: 'é' },
    { role: 'control' },
    { role: 'workspace' },
    { role: 'cgroup', index: 1 },
  ];
  const { descriptors, close } = openDescriptors(roles, supplied);
  onTestFinished(close);
  expect(descriptors).toEqual([
    { role: 'bytes', bytes: '--bind\0a b\0\0' },
    { role: 'bytes', name: 'seccomp', bytes: filter },
    { role: 'bytes', name: '/etc/hosts', bytes: 'é' },
    { role: 'control' },
    { role: 'open', fd: supplied.workspaceFd },
    { role: 'open', fd: 71, writes: true },
  ]);
});

test('openDescriptors() opens the launcher anew for each run, and close() closes what it opened and nothing else', () => {
  const supplied = sources();
  const roles: Descriptor[] = [{ role: 'launcher' }, { role: 'workspace' }];
  const [one, other] = [openDescriptors(roles, supplied), openDescriptors(roles, supplied)];
  expect(one.descriptors[0]).not.toEqual(other.descriptors[0]);
  expect(openBelow(supplied.directory).filter((path) => path === supplied.launcher)).toHaveLength(2);
  one.close();
  other.close();
  one.close();
  expect(openBelow(supplied.directory)).toEqual([join(supplied.directory, 'work')]);
});

test.each<[string, Descriptor, RegExp]>([
  ['a protected file that is not there', { role: 'protected', path: 'gone' }, /ENOENT/],
  ['a protected name that is a link', { role: 'protected', path: 'link' }, /ELOOP/],
  ['a pinned directory that is a link', { role: 'pinned', path: 'link' }, /ELOOP/],
  ['a path with a link on its way', { role: 'protected', path: 'link/passwd' }, /ENOTDIR|ELOOP/],
  ['a path through a file', { role: 'pinned', path: 'file/x' }, /ENOTDIR/],
  ['a path out of the workspace', { role: 'protected', path: '../launcher' }, /with no link/],
  ['a group that was not made', { role: 'cgroup', index: 2 }, /there are 0/],
])('openDescriptors() leaves nothing open when it refuses %s', (_, role, words) => {
  const supplied = sources();
  symlinkSync('/etc', join(supplied.directory, 'work/link'));
  writeFileSync(join(supplied.directory, 'work/file'), '');
  const roles: Descriptor[] = [{ role: 'launcher' }, { role: 'launcher' }, role];
  expect(() => openDescriptors(roles, supplied)).toThrow(words);
  expect(openBelow(supplied.directory)).toEqual([join(supplied.directory, 'work')]);
});

test('openDescriptors() refuses a launcher that was replaced by a link', () => {
  const supplied = sources();
  const link = join(supplied.directory, 'link');
  symlinkSync(supplied.launcher, link);
  expect(() => openDescriptors([{ role: 'launcher' }], { ...supplied, launcher: link })).toThrow(/ELOOP/);
});

test('openDescriptors() opens a protected name below the held directory, wherever its path leads by now', () => {
  const supplied = sources();
  writeFileSync(join(supplied.directory, 'work/kept'), 'kept');
  const open = openDescriptors([{ role: 'protected', path: 'kept' }], supplied);
  expect(openBelow(supplied.directory)).toContain(join(supplied.directory, 'work/kept'));
  open.close();
});

test('openDescriptors() opens a protected path that is nested', () => {
  const supplied = sources();
  mkdirSync(join(supplied.directory, 'work/a/b'), { recursive: true });
  writeFileSync(join(supplied.directory, 'work/a/b/kept'), 'kept');
  const open = openDescriptors([{ role: 'protected', path: 'a/b/kept' }], supplied);
  expect(openBelow(supplied.directory)).toContain(join(supplied.directory, 'work/a/b/kept'));
  open.close();
  expect(openBelow(supplied.directory)).toEqual([join(supplied.directory, 'work')]);
});
