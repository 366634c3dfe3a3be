import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Scratches } from '../../../src/tiers/process/scratch.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

/** The directories of one gateway; those whose processes are named are gone. */
function scratchesOf(
  process: string,
  gone: readonly string[] = [],
  realStateDir = 'realStateDir-of-this-test',
) {
  return new Scratches({ owner: { realStateDir, process }, isGone: (each) => gone.includes(each) });
}

function kept<T extends { readonly remove: () => void }>(scratch: T): T {
  onTestFinished(() => scratch.remove());
  return scratch;
}

describe('a directory with a file', () => {
  it('has a copy of the first that is there, and is gone when it is removed', () => {
    const source = join(tempDir(), 'engine.js');
    writeFileSync(source, 'text');
    const { path, remove } = kept(scratchesOf('p_1').file('it.mjs', ['/nowhere/x.js', source]));
    expect(readFileSync(join(path, 'it.mjs'), 'utf8')).toBe('text');
    remove();
    expect(existsSync(path)).toBe(false);
  });

  it('is not left where none of them is there', () => {
    expect(() => scratchesOf('p_1').file('it.mjs', ['/nowhere/x.js'])).toThrow('is not built');
  });
});

describe('a program', () => {
  it('is itself where every user can walk to it', () => {
    expect(scratchesOf('p_1').program('/usr/bin/env').path).toBe('/usr/bin/env');
  });

  it('is a copy that every user can execute where it lies in a place of its owner’s', () => {
    const hidden = join('/var/tmp', `palisade-hidden-${process.pid}`);
    mkdirSync(hidden, { mode: 0o700 });
    onTestFinished(() => rmSync(hidden, { recursive: true, force: true }));
    const source = join(hidden, 'tool');
    writeFileSync(source, '#!/bin/sh\n', { mode: 0o700 });
    const { path, remove } = kept(scratchesOf('p_1').program(source));
    expect(path).not.toBe(source);
    expect(readFileSync(path, 'utf8')).toBe('#!/bin/sh\n');
    for (const each of [path, dirname(path), dirname(dirname(path))])
      expect(statSync(each).mode & 0o001, each).toBe(0o001);
    remove();
    expect(existsSync(path)).toBe(false);
  });

  it('is a copy where a jail has a directory of its own, whatever TMPDIR says', () => {
    const folder = mkdtempSync('/tmp/palisade-shown-');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
    vi.stubEnv('TMPDIR', '/var/tmp');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(kept(scratchesOf('p_1').program(join(folder, 'tool'))).path).not.toContain(folder);
  });
});

describe('what a gateway has left', () => {
  const source = '/etc/hostname';

  it('is removed by the next one of the same state directory once it is gone', () => {
    const { path } = kept(scratchesOf('p_dead').file('x', [source]));
    scratchesOf('p_next', []).sweep();
    expect(existsSync(path)).toBe(true);
    scratchesOf('p_next', ['p_dead']).sweep();
    expect(existsSync(path)).toBe(false);
  });

  it('is left alone by one of another state directory', () => {
    const { path } = kept(scratchesOf('p_dead').file('x', [source]));
    scratchesOf('p_next', ['p_dead'], 'another-realStateDir').sweep();
    expect(existsSync(path)).toBe(true);
  });

  it('that only looks like it is left alone', () => {
    const odd = join(tmpdir(), `palisade-odd-${process.pid}`);
    writeFileSync(odd, '');
    chmodSync(odd, 0o600);
    onTestFinished(() => rmSync(odd, { force: true }));
    scratchesOf('p_next', ['odd']).sweep();
    expect(existsSync(odd)).toBe(true);
  });
});
