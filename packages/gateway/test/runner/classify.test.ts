import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { baseName, kindOfName } from '../../src/runner/classify.ts';
import { accept, type Host, makeDeps, makeHost } from './sample.ts';

function script(host: Host, name: string, text: string): string {
  const path = join(host.workspace, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return `./${name}`;
}

function kindOf(host: Host, command: string, args: string[] = []): string {
  return accept(host, { command, args }).facts.kind;
}

const LINKER =
  ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1', '/lib/ld-musl-x86_64.so.1'].find(
    existsSync,
  ) ?? '';

describe('kindOfName()', () => {
  it.each([
    ['shell', 'sh bash dash zsh rbash bash5 ksh93 fish pwsh'],
    [
      'interpreter',
      'python python3 python3.11 python3.12-dbg pypy3 perl perl5.36.0 node nodejs node20 ruby3.1 lua5.4 php8.2 tclsh8.6 PYTHON3 python3.exe awk gawk mawk sed java x86_64-linux-gnu-python3',
    ],
    [
      'launcher',
      'env xargs nice timeout nohup busybox sudo su strace ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1 ld.so ld-2.31.so make ninja npm unshare nsenter bwrap',
    ],
    ['plain', 'cat git gcc gcc-12 ls tar sort base64 sha256sum md5sum ld ld.bfd find b2sum g++ true cp'],
  ])('knows by name: %s', (kind, names) => {
    for (const name of names.split(' ')) expect(kindOfName(name), name).toBe(kind);
  });

  it('looks a name up without its version', () => {
    expect(['python3.11', 'perl5.36.0', 'lua5.4', 'i386', 'x86_64'].map(baseName)).toEqual([
      'python',
      'perl',
      'lua',
      'i386',
      'x86_64',
    ]);
  });
});

describe('termsOf() tells the policies what a program is', () => {
  it.each([
    ['sh', 'shell'],
    ['/bin/sh', 'shell'],
    ['awk', 'interpreter'],
    ['env', 'launcher'],
    ['xargs', 'launcher'],
    ['cat', 'plain'],
    ['git', 'plain'],
    ['gcc', 'plain'],
  ])('%s is of the kind %s', (command, kind) => {
    expect(kindOf(makeHost(), command)).toBe(kind);
  });

  it('refuses no kind by itself: that is for the policies', () => {
    expect(kindOf(makeHost(), 'sh', ['-c', 'id'])).toBe('shell');
  });

  it('sees a shell through a link, a copy and a hard link with harmless names', () => {
    const host = makeHost();
    const shell = realpathSync('/bin/sh');
    symlinkSync('/bin/sh', join(host.workspace, 'ls'));
    copyFileSync(shell, join(host.workspace, 'cat'));
    linkSync(join(host.workspace, 'cat'), join(host.workspace, 'hard'));
    for (const command of ['./ls', './cat', './hard']) {
      const run = spawnSync(command, ['-c', 'echo shell'], { cwd: host.workspace, encoding: 'utf8' });
      expect(run.stdout).toBe('shell\n');
      expect(kindOf(host, command), command).toBe('shell');
    }
  });

  it('sees a hard link to a program of the search path', () => {
    const { outside, workspace, ...rest } = makeHost();
    const settings = { ...rest.settings, searchPath: [outside, '/usr/bin', '/bin'] };
    const host: Host = {
      ...rest,
      outside,
      workspace,
      settings,
      deps: makeDeps(settings, '/nonexistent', '/nonexistent'),
    };
    copyFileSync(realpathSync('/bin/cat'), join(outside, 'bash'));
    appendFileSync(join(outside, 'bash'), 'another content');
    linkSync(join(outside, 'bash'), join(workspace, 'hard'));
    expect(kindOf(host, './hard')).toBe('shell');
    expect(kindOf(host, 'cat')).toBe('plain');
  });

  it('does not see a copy with one byte more, which is why Tier C holds without it', () => {
    const host = makeHost();
    copyFileSync(realpathSync('/bin/sh'), join(host.workspace, 'tool'));
    appendFileSync(join(host.workspace, 'tool'), '\n');
    expect(kindOf(host, './tool')).toBe('plain');
  });

  it('sees the dynamic linker, which runs any program, under its own name and as a copy', () => {
    const host = makeHost();
    const run = spawnSync(LINKER, [realpathSync('/bin/echo'), 'ran'], { encoding: 'utf8' });
    expect(run.stdout).toBe('ran\n');
    expect(kindOf(host, LINKER, ['/bin/sh'])).toBe('launcher');
    copyFileSync(realpathSync(LINKER), join(host.workspace, 'tool'));
    chmodSync(join(host.workspace, 'tool'), 0o755);
    expect(kindOf(host, './tool')).toBe('launcher');
  });

  it.each([
    ['#!/bin/sh\n', 'shell', '/bin/sh'],
    ['#! /bin/sh -e\n', 'shell', '/bin/sh'],
    ['#!/usr/bin/env sh\n', 'shell', '/bin/sh'],
    ['#!/usr/bin/env -S A=1 sh -x\n', 'shell', '/bin/sh'],
    ['#!/usr/bin/awk -f\n', 'interpreter', '/usr/bin/awk'],
    ['#!/bin/cat\n', 'interpreter', '/bin/cat'],
  ])('a script that begins with %j is of the kind %s', (text, kind, interpreter) => {
    const host = makeHost();
    const { facts } = accept(host, { command: script(host, 'tool', text) });
    expect(facts).toMatchObject({ kind, format: 'script', interpreter: realpathSync(interpreter) });
  });

  it('a script run by a script of the workspace is what the last one is', () => {
    const host = makeHost();
    script(host, 'inner', '#!/bin/sh\n');
    const { facts } = accept(host, {
      command: script(host, 'outer', `#!${join(host.workspace, 'inner')}\n`),
    });
    expect(facts).toMatchObject({ kind: 'shell', interpreter: realpathSync('/bin/sh') });
  });

  it('scripts that run each other end the search', () => {
    const host = makeHost();
    script(host, 'a', `#!${join(host.workspace, 'b')}\n`);
    script(host, 'b', `#!${join(host.workspace, 'a')}\n`);
    expect(kindOf(host, './a')).toBe('interpreter');
  });

  it.each([['text without a first line'], [''], ['#!\n'], ['#!/no/such/interpreter\n'], ['MZ']])(
    'a file that holds %j is no plain program',
    (text) => {
      const host = makeHost();
      expect(kindOf(host, script(host, 'tool', text))).toBe('interpreter');
    },
  );

  it.each<[string, string[], string]>([
    ['find', ['.', '-name', 'x', '-exec', 'sh', '-c', 'id', ';'], 'launcher'],
    ['find', ['.', '-name', 'x'], 'plain'],
    ['git', ['-c', 'core.fsmonitor=id', 'status'], 'launcher'],
    ['git', ['clone', '--upload-pa=id', 'a', 'b'], 'launcher'],
    ['git', ['switch', '-c', 'feature'], 'plain'],
    ['git', ['status'], 'plain'],
    ['tar', ['cf', 'x.tar', '--checkpoint=1', '--checkpoint-act=exec=id', 'x'], 'launcher'],
    ['tar', ['-cIf', 'id', 'x.tar', 'x'], 'launcher'],
    ['tar', ['cIf', 'id', 'x.tar', 'x'], 'launcher'],
    ['tar', ['-xzf', 'x.tar'], 'plain'],
    ['gcc', ['-wrapper', 'id', 'x.c'], 'launcher'],
    ['gcc', ['-B.', 'x.c'], 'launcher'],
    ['gcc', ['-DBUILD', '-O2', '-Wall', 'x.c', '-lBar'], 'plain'],
    ['sort', ['--compress-prog=id', 'x'], 'launcher'],
  ])('%s %j is of the kind %3$s', (command, args, kind) => {
    expect(kindOf(makeHost(), command, args)).toBe(kind);
  });

  it('a file of many programs is the one that it is called by', () => {
    const host = makeHost();
    copyFileSync(realpathSync('/bin/cat'), join(host.workspace, 'busybox'));
    for (const name of ['ls', 'sh', 'busybox-2']) symlinkSync('busybox', join(host.workspace, name));
    expect(['./ls', './sh', './busybox', './busybox-2'].map((command) => kindOf(host, command))).toEqual([
      'plain',
      'shell',
      'launcher',
      'launcher',
    ]);
  });
});
