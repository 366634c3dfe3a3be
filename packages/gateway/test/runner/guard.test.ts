import { appendFileSync, chmodSync, copyFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunnerSettings } from '../../src/runner/settings.ts';
import { accept, type Host, makeHost } from './sample.ts';

/** What keeps a command back in tier B; null: nothing. */
function guardOf(host: Host, command: string, args: readonly string[] = [], tier: 'b' | 'c' = 'b') {
  return accept(host, { command, args, tier }).facts.guard;
}

function scriptIn({ workspace }: Host, text: string): string {
  writeFileSync(join(workspace, 'tool'), text, { mode: 0o755 });
  return './tool';
}

/** A program without an own name in any table, which a command could have written. */
function ownProgram(host: Host): string {
  copyFileSync(realpathSync('/bin/cat'), join(host.workspace, 'mine'));
  appendFileSync(join(host.workspace, 'mine'), '\n');
  return './mine';
}

describe('the guard of tier B', () => {
  it.each([
    ['sh', [], 'runs what a shell runs'],
    ['python3', ['-c', ''], 'runs code'],
    ['env', ['true'], 'starts other programs'],
    ['find', ['.', '-exec', 'true', ';'], 'starts other programs'],
    ['diff3', ['--diff-program=./x', 'a', 'b', 'c'], 'starts other programs'],
    ['git', ['bisect', 'run', './x'], 'starts other programs'],
    ['git', ['clone', '-qu', './x', '.', 'y'], 'starts other programs'],
    ['git', ['clone', '-ccore.sshCommand=./x', 'a:b'], 'starts other programs'],
    ['tput', ['reset'], 'starts other programs'],
    ['/usr/sbin/fstab-decode', ['true'], 'can start other programs'],
  ])('keeps %s %j back', (command, args, reason) => {
    expect(guardOf(makeHost(), command, args)).toBe(reason);
  });

  it.each([
    ['cat', ['a']],
    ['git', ['status']],
    ['git', ['add', 'daemon.c', 'difftool.md']],
    ['find', ['.', '-name', 'x']],
    ['git', ['push', '-u', 'origin', 'clone']],
    ['gcc', ['-c', 'x.c']],
    ['gcc', ['-Wl,-O1', 'plugin.c']],
    ['ps', ['-ef']],
    ['diff', ['a', 'b']],
    ['iconv', ['-l']],
    ['tput', ['cols']],
  ])('lets %s %j run', (command, args) => {
    expect(guardOf(makeHost(), command, args)).toBe(null);
  });

  it('keeps a file back that commands can write, whatever it holds', () => {
    const host = makeHost();
    expect(guardOf(host, ownProgram(host))).toBe('can be written by commands');
  });

  it('keeps a file of the user back on a path that the operator shows', () => {
    const host = makeHost();
    const path = join(host.outside, 'tool');
    copyFileSync(realpathSync('/bin/cat'), path);
    appendFileSync(path, '\n');
    chmodSync(path, 0o777);
    expect(guardOf({ ...host, settings: { ...host.settings, readOnly: [host.outside] } }, path)).toBe(
      'can be written by commands',
    );
  });

  it('is not there in tier C, where the kernel holds what is started', () => {
    const host = makeHost();
    expect(guardOf(host, 'sh', [], 'c')).toBe(null);
    expect(guardOf(host, ownProgram(host), [], 'c')).toBe(null);
  });

  it.each<[string, RunnerSettings['interpreters'], string | null]>([
    ['by its name', ['awk'], null],
    ['by its path', [realpathSync('/usr/bin/awk')], null],
    ['with all others', 'any', null],
    ['not: another one is listed', ['python3'], 'runs code'],
    ['not: its name is listed as a file of the workspace', ['./awk'], 'runs code'],
  ])('is lifted for a program that is listed %s', (_, interpreters, expected) => {
    expect(guardOf(makeHost({ interpreters }), 'awk', ['BEGIN {}'])).toBe(expected);
  });

  it('is lifted for a script only with every interpreter that reads it', () => {
    const text = '#!/usr/bin/awk -f\n';
    const allowed = makeHost({ interpreters: ['awk'] });
    expect(guardOf(allowed, scriptIn(allowed, text))).toBe(null);
    const other = makeHost({ interpreters: ['sh'] });
    expect(guardOf(other, scriptIn(other, text))).toBe('runs code');
    const missing = makeHost({ interpreters: ['awk'] });
    expect(guardOf(missing, scriptIn(missing, '#!/no/such/program\n'))).toBe('runs code');
  });
});
