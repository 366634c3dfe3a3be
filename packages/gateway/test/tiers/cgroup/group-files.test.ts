import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { machineFiles as files } from '../../../src/tiers/cgroup/group-files.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

/** A file, and a link to it. */
function filesIn(directory: string) {
  const [file, link] = [join(directory, 'file'), join(directory, 'link')];
  writeFileSync(file, 'max\n');
  symlinkSync(file, link);
  return { file, link };
}

describe('the files of a group', () => {
  it('are read and written', () => {
    const { file } = filesIn(tempDir());
    files.write(file, '100');
    expect(files.read(file)).toBe('100\n');
  });

  it('are never reached through a link', () => {
    const { file, link } = filesIn(tempDir());
    expect(files.read(link)).toBeNull();
    expect(() => files.write(link, '0')).toThrow(/ELOOP/);
    expect(() => files.open(link)).toThrow(/ELOOP/);
    expect(readFileSync(file, 'utf8')).toBe('max\n');
  });

  it('are never made by a write', () => {
    const directory = tempDir();
    expect(() => files.write(join(directory, 'memory.max'), '1')).toThrow(/ENOENT/);
    expect(files.read(join(directory, 'memory.max'))).toBeNull();
  });

  it('are opened for writing alone, and not for programs that we start', () => {
    const { file } = filesIn(tempDir());
    const descriptor = files.open(file);
    const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
    files.close(descriptor);
    const flags = Number.parseInt(/^flags:\s+(\d+)$/m.exec(info)?.[1] ?? '', 8);
    expect(flags & 0o3).toBe(0o1);
    expect(flags & 0o2000000).toBe(0o2000000);
  });

  it('are in directories, and a link to a directory is none', () => {
    const directory = tempDir();
    mkdirSync(join(directory, 'group'));
    symlinkSync('/', join(directory, 'link'));
    expect(files.directories(directory)).toEqual(['group']);
    expect(files.directories(join(directory, 'nothing'))).toEqual([]);
  });
});
