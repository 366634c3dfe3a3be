import { existsSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  readClientFile,
  removeClientFile,
  writeClientFile,
} from '../../../../src/doors/cli/connect/client-file.ts';
import { tempDir } from '../../../fixture/temp-dir.ts';
import { textOf } from './scratch-home.ts';

describe('writeClientFile()', () => {
  test('makes folders and a file for their owner alone', () => {
    const path = join(tempDir(), 'a/b/file.json');
    writeClientFile(readClientFile(path, null), '{}', 0o600);
    expect(textOf(path)).toBe('{}');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
  });

  test('loses nothing that another program wrote since it was read', () => {
    const folder = tempDir();
    const path = join(folder, 'file.json');
    writeFileSync(path, 'first');
    const file = readClientFile(path, null);
    writeFileSync(path, 'second');
    for (const act of [() => writeClientFile(file, 'ours', 0o600), () => removeClientFile(file)])
      expect(act).toThrow('another program has changed it meanwhile');
    expect([textOf(path), readdirSync(folder)]).toEqual(['second', ['file.json']]);
  });

  test('writes over no file that came to be since it was looked for', () => {
    const path = join(tempDir(), 'file.json');
    const file = readClientFile(path, null);
    writeFileSync(path, 'theirs');
    expect(() => writeClientFile(file, 'ours', 0o600)).toThrow('another program has changed it meanwhile');
    expect(textOf(path)).toBe('theirs');
  });

  test('follows no link in the place of the new file', () => {
    const folder = tempDir();
    const [path, victim] = [join(folder, 'file.json'), join(folder, 'victim')];
    writeFileSync(path, 'before');
    writeFileSync(victim, 'precious');
    const trap = `${path}.palisade-${process.pid}`;
    symlinkSync(victim, trap);
    expect(() => writeClientFile(readClientFile(path, null), 'ours', 0o600)).toThrow('EEXIST');
    expect([textOf(path), textOf(victim), lstatSync(trap).isSymbolicLink()]).toEqual([
      'before',
      'precious',
      true,
    ]);
  });

  test('keeps the mode that the file is to have, whatever the mask of the process', () => {
    const path = join(tempDir(), 'file.json');
    writeFileSync(path, 'before');
    const mask = process.umask(0o077);
    try {
      writeClientFile(readClientFile(path, null), 'after', 0o664);
    } finally {
      process.umask(mask);
    }
    expect(statSync(path).mode & 0o777).toBe(0o664);
  });
});

describe('readClientFile()', () => {
  test('takes a file in a project, and none that a folder of it leads out to', () => {
    const [project, elsewhere] = [tempDir(), tempDir()];
    mkdirSync(join(project, 'real'));
    symlinkSync(join(project, 'real'), join(project, 'inside'));
    symlinkSync(elsewhere, join(project, 'outside'));
    expect(readClientFile(join(project, 'inside/file.json'), project).text).toBeNull();
    expect(() => readClientFile(join(project, 'outside/new/file.json'), project)).toThrow(
      'leads out of the project',
    );
    expect(existsSync(join(elsewhere, 'new'))).toBe(false);
  });
});
