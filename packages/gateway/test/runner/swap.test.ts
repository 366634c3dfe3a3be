import {
  appendFileSync,
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findChange, findMovedPath } from '../../src/runner/terms.ts';
import { accept, type Host, makeHost } from './sample.ts';

/** A host whose command is checked and then changed before it runs. */
function prepare(): Host {
  const host = makeHost();
  mkdirSync(join(host.workspace, 'sub/deep'), { recursive: true });
  writeFileSync(join(host.workspace, 'sub/file'), 'inside');
  copyFileSync(realpathSync('/bin/cat'), join(host.workspace, 'tool'));
  return host;
}

const SWAPS: readonly (readonly [what: string, swap: (host: Host) => void, expected: string])[] = [
  [
    'a directory for a link',
    ({ workspace, outside }) => {
      renameSync(join(workspace, 'sub'), join(workspace, 'moved'));
      symlinkSync(outside, join(workspace, 'sub'));
      mkdirSync(join(outside, 'deep'));
    },
    'working directory',
  ],
  [
    'the workspace for a link',
    ({ workspace, outside }) => {
      renameSync(workspace, `${workspace}-moved`);
      symlinkSync(outside, workspace);
    },
    'workspace',
  ],
  [
    'the workspace for another directory',
    ({ workspace }) => {
      renameSync(workspace, `${workspace}-moved`);
      mkdirSync(workspace);
    },
    'workspace',
  ],
  [
    'the working directory for another one',
    ({ workspace }) => {
      renameSync(join(workspace, 'sub/deep'), join(workspace, 'sub/other'));
      mkdirSync(join(workspace, 'sub/deep'));
    },
    'working directory',
  ],
  ['the program for a link', ({ workspace }) => relink('/bin/sh', join(workspace, 'tool')), 'program'],
  ['the content of the program', ({ workspace }) => appendFileSync(join(workspace, 'tool'), 'x'), 'program'],
  ['the mode of the program', ({ workspace }) => chmodSync(join(workspace, 'tool'), 0o4755), 'program'],
  [
    'an argument for a link',
    ({ workspace, canary }) => relink(canary, join(workspace, 'sub/file')),
    'argument',
  ],
  [
    'a new leaf for a link',
    ({ workspace, canary }) => symlinkSync(canary, join(workspace, 'sub/new')),
    'argument',
  ],
];

function relink(target: string, path: string): void {
  rmSync(path);
  symlinkSync(target, path);
}

describe('findChange() (B18)', () => {
  it('finds nothing while nothing is changed, nor when files are written beside', () => {
    const host = prepare();
    const { facts } = accept(host, {
      command: './../../tool',
      cwd: 'sub/deep',
      args: ['../file', '--out=../new'],
      tier: 'b',
    });
    expect(findChange(facts, null)).toBeNull();
    writeFileSync(join(host.workspace, 'sub/deep/beside'), '');
    writeFileSync(join(host.workspace, 'sub/file'), 'changed');
    expect(findChange(facts, null)).toBeNull();
  });

  it.each(SWAPS)('finds a swap of %s between check and run', (_, swap, expected) => {
    const host = prepare();
    const { facts } = accept(host, {
      command: './../../tool',
      cwd: 'sub/deep',
      args: ['../file', '--out=../new'],
      tier: 'b',
    });
    expect(findChange(facts, null)).toBeNull();
    swap(host);
    expect(findChange(facts, null)).toContain(`the ${expected} `);
  });

  it.each(SWAPS)(
    'finds a swap of %s in tier C unless only an argument leads elsewhere',
    (_, swap, expected) => {
      const host = prepare();
      const { facts } = accept(host, {
        command: './../../tool',
        cwd: 'sub/deep',
        args: ['../file', '--out=../new'],
      });
      swap(host);
      const change = findChange(facts, null);
      if (expected !== 'argument') expect(change).toContain(`the ${expected} `);
      else expect([change, findMovedPath(facts)]).toEqual([null, expect.stringContaining('the argument ')]);
    },
  );

  it('judges the directory that the run has open, and not what its path says', () => {
    const host = prepare();
    const { facts } = accept(host, {});
    const open = (path: string) => {
      const fd = openSync(path, 'r');
      onTestFinished(() => closeSync(fd));
      return fd;
    };
    expect(findChange(facts, open(host.workspace))).toBeNull();
    expect(findChange(facts, open(host.stateDir))).toContain('is the state directory of palisade');
    expect(findChange(facts, open(host.home))).toContain('is a home directory');
    expect(findChange(facts, open(host.root))).toContain('contains "');
  });
});
