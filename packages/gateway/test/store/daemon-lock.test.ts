import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readDaemon } from '../../src/store/daemon-facts.ts';
import { lockDaemon } from '../../src/store/daemon-lock.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const FACTS = {
  ...{ pid: 4711, url: 'http://127.0.0.1:7433', startedAt: '2026-05-01T12:00:00.000Z', version: '0.1.0' },
  ...{ cwd: '/srv', roots: ['/srv/work'], hasWorkspaces: false },
};

describe('the lock of the daemon', () => {
  test('has room for one, and says who has it', () => {
    const directory = tempDir();
    const lock = lockDaemon(directory);
    expect(() => lockDaemon(directory)).toThrow('another process does');
    lock.announce(FACTS);
    expect(() => lockDaemon(directory)).toThrow('process 4711 does at http://127.0.0.1:7433');
    lock.close();
    const next = lockDaemon(directory);
    next.close();
  });

  test('is told in a file for its owner alone, which is gone with it', () => {
    const directory = tempDir();
    const lock = lockDaemon(directory);
    lock.announce(FACTS);
    const file = join(directory, 'daemon.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(FACTS);
    expect(readDaemon(directory)).toEqual(FACTS);
    lock.close();
    expect(readDaemon(directory)).toBeNull();
  });
});

describe('readDaemon()', () => {
  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['another shape', '{"pid":"1"}'],
    ['a part of it', JSON.stringify({ ...FACTS, cwd: undefined })],
    ['null', 'null'],
    ['far too much', ' '.repeat(100_000)],
  ])('takes %s for none', (_, text) => {
    const directory = tempDir();
    writeFileSync(join(directory, 'daemon.json'), text, { mode: 0o600 });
    expect(readDaemon(directory)).toBeNull();
  });

  test('does not follow a link, nor read what others can write', () => {
    const directory = tempDir();
    mkdirSync(join(directory, 'b'));
    writeFileSync(join(directory, 'real'), JSON.stringify(FACTS), { mode: 0o600 });
    symlinkSync(join(directory, 'real'), join(directory, 'daemon.json'));
    expect(readDaemon(directory)).toBeNull();
    writeFileSync(join(directory, 'b', 'daemon.json'), JSON.stringify(FACTS), { mode: 0o666 });
    expect(readDaemon(join(directory, 'b'))).toBeNull();
  });
});
