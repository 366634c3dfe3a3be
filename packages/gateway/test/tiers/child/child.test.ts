import { execFileSync } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { heldEnd } from '../../../src/tiers/child/child.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { bytesOf } from './sample.ts';

/** Both ends of a pipe. */
function openPipe(): { readonly reader: number; readonly writer: number } {
  const path = join(tempDir(), 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

/** What is in a pipe, to the end of it. */
async function readToEnd(fd: number): Promise<number> {
  const room = Buffer.alloc(65_536);
  for (let total = 0; ; ) {
    try {
      const count = readSync(fd, room);
      if (count === 0) return total;
      total += count;
    } catch (error) {
      expect(error).toMatchObject({ code: 'EAGAIN' });
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

it('a held end that is destroyed is the end of its pipe, and is destroyed once', () => {
  const { reader, writer } = openPipe();
  const end = heldEnd(writer);
  expect(() => readSync(reader, Buffer.alloc(1))).toThrow(/EAGAIN/);
  end.destroy();
  expect(readSync(reader, Buffer.alloc(1))).toBe(0);
  // Its number may be another's by now.
  const others = Array.from({ length: 8 }, () => openSync('/dev/null', 'r'));
  expect(others).toContain(writer);
  end.destroy();
  end.end(bytesOf('late'));
  expect(fstatSync(writer).isCharacterDevice()).toBe(true);
  for (const fd of [reader, ...others]) closeSync(fd);
});

it('a held end gives its message and then the end of its pipe', () => {
  const { reader, writer } = openPipe();
  const end = heldEnd(writer);
  end.end(bytesOf('words'));
  end.end(bytesOf('more words'));
  end.destroy();
  expect(readFileSync(reader, 'utf8')).toBe('words');
  closeSync(reader);
});

it('a held end gives a message that is longer than the pipe to its last byte', async () => {
  const { reader, writer } = openPipe();
  heldEnd(writer).end(new Uint8Array(3_000_000));
  expect(await readToEnd(reader)).toBe(3_000_000);
  closeSync(reader);
});

it('a held end whose long message nobody reads lets go of its pipe when it is destroyed', async () => {
  const { reader, writer } = openPipe();
  const end = heldEnd(writer);
  end.end(new Uint8Array(3_000_000));
  end.destroy();
  expect(await readToEnd(reader)).toBeLessThan(3_000_000);
  closeSync(reader);
});

it('a held end whose reader is gone says nothing about it', () => {
  const { reader, writer } = openPipe();
  closeSync(reader);
  heldEnd(writer).end(bytesOf('words'));
  expect(() => fstatSync(writer)).toThrow(/EBADF/);
});
