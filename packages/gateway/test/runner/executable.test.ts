import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FileDigests, openExecutable } from '../../src/runner/executable.ts';
import { accept, ask, type Host, makeHost, verdict } from './sample.ts';

/** A program that says that it was run. */
function plant(path: string): string {
  writeFileSync(path, '#!/bin/sh\necho planted\n');
  chmodSync(path, 0o755);
  return path;
}

describe('termsOf() and the program', () => {
  it('finds a name on the fixed search path, with the digest of what runs', () => {
    const { terms } = accept(makeHost(), { command: 'cat', args: ['x'] });
    const real = realpathSync('/bin/cat');
    expect(terms).toMatchObject({ executable: real, argv: ['cat', 'x'] });
    expect(terms.executableSha256).toBe(createHash('sha256').update(readFileSync(real)).digest('hex'));
  });

  it('runs a program of the workspace when it is named by its path', () => {
    const host = makeHost();
    mkdirSync(join(host.workspace, 'bin'));
    const tool = plant(join(host.workspace, 'bin/tool'));
    symlinkSync('bin/tool', join(host.workspace, 'alias'));
    for (const command of ['./bin/tool', 'bin/tool', tool, './alias']) {
      expect(accept(host, { command }).terms.executable).toBe(tool);
    }
    expect(accept(host, { command: './alias' }).terms.argv[0]).toBe(join(host.workspace, 'alias'));
  });

  it.each<[string, (host: Host) => string]>([
    ['a name that is nowhere', () => 'no-such-program'],
    ['a path that is nowhere', () => './missing'],
    ['a directory', () => './directory'],
    ['a file that may not be executed', () => './data'],
    ['a pipe', () => './pipe'],
    ['an empty part', () => './'],
    ['a dot', () => '.'],
    ['two dots', () => '..'],
    ['an option', () => '-c'],
    ['a command line', () => 'cat x'],
    ['a name as long as allowed', () => 'x'.repeat(256)],
  ])('does not find %s', (_, command) => {
    const host = makeHost();
    mkdirSync(join(host.workspace, 'directory'));
    writeFileSync(join(host.workspace, 'data'), '#!/bin/sh\n');
    spawnSync('mkfifo', ['-m', '777', join(host.workspace, 'pipe')]);
    expect(verdict(ask(host, { command: command(host) }))).toMatch(
      /^runner\/(?:not-found|outside-workspace)$/,
    );
  });

  it('says that arguments go into args where a command line was given as the program', () => {
    expect(ask(makeHost(), { command: 'cat x' })).toMatchObject({
      code: 'runner/not-found',
      remedy: expect.stringContaining('`args`'),
    });
  });

  it('refuses a program that is neither in the workspace nor of the system, however it is reached', () => {
    const host = makeHost();
    const tool = plant(join(host.outside, 'tool'));
    symlinkSync(tool, join(host.workspace, 'tool'));
    for (const command of [tool, './tool', '../outside/tool']) {
      expect(verdict(ask(host, { command })), command).toBe('runner/outside-workspace');
    }
    const settings = { ...host.settings, readOnly: [host.outside] };
    expect(verdict(ask(host, { command: tool }, settings))).toBe('ok');
  });
});

describe('a program planted in the workspace (C43)', () => {
  it.each<[string, (host: Host) => string[]]>([
    ['an empty entry', () => ['']],
    ['a dot', () => ['.']],
    ['a relative entry', () => ['bin']],
    ['a directory of the workspace', ({ workspace }) => [join(workspace, 'bin')]],
    ['a link to a directory of the workspace', ({ root }) => [join(root, 'linked')]],
  ])('is not found through %s of the search path', (_, entries) => {
    const host = makeHost();
    mkdirSync(join(host.workspace, 'bin'));
    symlinkSync(join(host.workspace, 'bin'), join(host.root, 'linked'));
    for (const name of ['cat', 'bwrap', 'only-here']) {
      plant(join(host.workspace, name));
      plant(join(host.workspace, 'bin', name));
    }
    const searchPath = [...entries(host), '/usr/bin', '/bin'];
    const shell = {
      cwd: host.workspace,
      encoding: 'utf8',
      env: { PATH: searchPath.join(delimiter) },
    } as const;
    expect(spawnSync('/bin/sh', ['-c', 'cat'], shell).stdout).toBe('planted\n');
    const settings = { ...host.settings, searchPath };
    expect(ask(host, { command: 'cat' }, settings)).toMatchObject({
      terms: { executable: realpathSync('/bin/cat') },
    });
    expect(verdict(ask(host, { command: 'only-here' }, settings))).toBe('runner/not-found');
  });

  it('is refused where a link on the search path leads to it', () => {
    const host = makeHost();
    const tool = plant(join(host.workspace, 'tool'));
    symlinkSync(tool, join(host.outside, 'tool'));
    const settings = { ...host.settings, searchPath: [host.outside] };
    expect(verdict(ask(host, { command: 'tool' }, settings))).toBe('runner/not-allowed');
  });
});

describe('a list of allowed programs', () => {
  it('allows a name and a path, by any spelling of the same entry', () => {
    const host = makeHost({ allowedExecutables: ['cat', '/usr/bin/sort'] });
    for (const command of ['cat', '/bin/cat', '/usr/bin/../bin/cat', 'sort']) {
      expect(verdict(ask(host, { command })), command).toBe('ok');
    }
    expect(verdict(ask(host, { command: 'date' }))).toBe('runner/not-allowed');
  });

  it('allows no other file of the same name, no copy and no hard link', () => {
    const host = makeHost({ allowedExecutables: ['cat'] });
    const cat = realpathSync('/bin/cat');
    mkdirSync(join(host.workspace, 'bin'));
    plant(join(host.workspace, 'bin/cat'));
    copyFileSync(cat, join(host.workspace, 'cat'));
    for (const command of ['./cat', 'bin/cat']) {
      expect(verdict(ask(host, { command })), command).toBe('runner/not-allowed');
    }
  });

  it('allows one name of a file with many, and not the others', () => {
    const host = makeHost();
    const many = plant(join(host.outside, 'busybox'));
    symlinkSync('busybox', join(host.outside, 'ls'));
    symlinkSync('busybox', join(host.outside, 'sh'));
    const settings = { ...host.settings, searchPath: [host.outside], allowedExecutables: ['ls'] };
    expect(ask(host, { command: 'ls' }, settings)).toMatchObject({
      ok: true,
      terms: { executable: many, argv: ['ls'] },
    });
    expect(verdict(ask(host, { command: 'sh' }, settings))).toBe('runner/not-allowed');
    expect(verdict(ask(host, { command: 'busybox' }, settings))).toBe('runner/not-allowed');
  });
});

describe('openExecutable()', () => {
  it('digests what a file holds now, though its size and its times look the same', () => {
    const { workspace } = makeHost();
    const path = plant(join(workspace, 'tool'));
    const fd = openSync(path, 'r');
    onTestFinished(() => closeSync(fd));
    const digests = new FileDigests({ nowMs: () => Date.now() });
    const { facts, sha256 } = openExecutable(path, digests);
    // Written within one tick of the file system's clock, the second content has the facts of the first.
    writeFileSync(path, '#!/bin/sh\necho PLANTED\n');
    expect(digests.of(fd, facts)).not.toBe(sha256);
  });

  it('remembers the digest of a file that is old enough, for as long as nobody touches it', () => {
    const { workspace } = makeHost();
    const later = new FileDigests({ nowMs: () => Date.now() + 60_000 });
    const path = plant(join(workspace, 'tool'));
    const first = openExecutable(path, later);
    // A descriptor that cannot be read shows that nothing is read again.
    expect(later.of(-1, first.facts)).toBe(first.sha256);
    expect(() => new FileDigests({ nowMs: () => Date.now() }).of(-1, first.facts)).toThrow();
    for (const touched of [{ ino: 1n }, { sizeBytes: 1n }, { mtimeNs: 1n }, { ctimeNs: 1n }, { dev: 1n }]) {
      expect(() => later.of(-1, { ...first.facts, ...touched })).toThrow();
    }
  });
});
