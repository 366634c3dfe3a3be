import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nameText } from '../../../src/tiers/workspace/names.ts';
import { readWorkspaceFile } from '../../../src/tiers/workspace/read-file.ts';
import { makeFifo, makeGround, put } from './fixture.ts';

describe('readWorkspaceFile()', () => {
  it('reads a regular file up to the last allowed byte', () => {
    const { workspace } = makeGround();
    put(workspace, 'a/b/file', 'x'.repeat(100_000));
    const read = readWorkspaceFile(workspace, 'a/b/file', 100_000);
    expect(read).toEqual({ status: 'read', bytes: Buffer.from('x'.repeat(100_000)) });
    expect(readWorkspaceFile(workspace, 'a/b/file', 99_999)).toEqual({ status: 'too-large', size: 100_000 });
  });

  it('reads a file whose name is no text, by the text that a snapshot gives', () => {
    const { workspace } = makeGround();
    const name = Buffer.from([0x61, 0xff, 0x0a]);
    writeFileSync(Buffer.concat([Buffer.from(`${workspace}/`), name]), 'odd');
    expect(readWorkspaceFile(workspace, nameText(name), 10)).toEqual({
      status: 'read',
      bytes: Buffer.from('odd'),
    });
  });

  it('does not follow a link in the place of the file', () => {
    const { outside, workspace } = makeGround();
    symlinkSync(join(outside, 'secret'), join(workspace, 'report'));
    expect(readWorkspaceFile(workspace, 'report', 100)).toEqual({ status: 'refused', kind: 'symlink' });
    expect(readFileSync(join(workspace, 'report'), 'utf8')).toBe('the secret');
  });

  it('does not follow a link on the way to the file', () => {
    const { outside, workspace } = makeGround(['real/file']);
    symlinkSync(outside, join(workspace, 'out'));
    symlinkSync('real', join(workspace, 'in'));
    expect(readWorkspaceFile(workspace, 'out/secret', 100)).toEqual({ status: 'refused', kind: 'symlink' });
    expect(readWorkspaceFile(workspace, 'in/file', 100)).toEqual({ status: 'refused', kind: 'symlink' });
  });

  it('is not held by a fifo that nobody writes to', () => {
    const { workspace } = makeGround();
    makeFifo(join(workspace, 'fifo'));
    expect(readWorkspaceFile(workspace, 'fifo', 100)).toEqual({ status: 'refused', kind: 'fifo' });
  });

  it('refuses a socket, a directory and a device', async () => {
    const { workspace } = makeGround(['dir/file']);
    const server = createServer().listen(join(workspace, 'socket'));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    expect(readWorkspaceFile(workspace, 'socket', 100)).toEqual({ status: 'refused', kind: 'socket' });
    expect(readWorkspaceFile(workspace, 'dir', 100)).toEqual({ status: 'refused', kind: 'directory' });
    expect(readWorkspaceFile('/dev', 'zero', 100)).toEqual({ status: 'refused', kind: 'character-device' });
  });

  it('does not read 100 GB that are not there', () => {
    const { workspace } = makeGround(['sparse']);
    truncateSync(join(workspace, 'sparse'), 100e9);
    expect(readWorkspaceFile(workspace, 'sparse', 1e6)).toEqual({ status: 'too-large', size: 100e9 });
  });

  it('reads no more than allowed of a file that says it is empty', () => {
    // The kernel's own files have no size and content all the same.
    expect(readWorkspaceFile('/proc', 'cpuinfo', 10)).toEqual({ status: 'too-large', size: 11 });
  });

  it.each([
    '../secret',
    'a/../../secret',
    '/etc/passwd',
    '.',
    '',
    'a//b',
    'a/',
    '..\\x2fsecret',
    '\\x2e\\x2e/secret',
    '\\x2e./secret',
    'a\0b',
    'a\\x00b',
  ])('takes %j for no file', (path) => {
    const { workspace } = makeGround(['a/b']);
    expect(readWorkspaceFile(workspace, path, 100)).toEqual({ status: 'missing' });
  });

  it('says that there is none, and what a file on the way is', () => {
    const { workspace } = makeGround(['file']);
    expect(readWorkspaceFile(workspace, 'no/such', 100)).toEqual({ status: 'missing' });
    expect(readWorkspaceFile(workspace, 'file/below', 100)).toEqual({ status: 'refused', kind: 'file' });
  });

  it('never gives the secret, whatever the path, and leaves nothing open', () => {
    const { outside, workspace } = makeGround(['a/b']);
    symlinkSync(outside, join(workspace, 'l'));
    mkdirSync(join(workspace, 'd'));
    linkSync(join(workspace, 'a/b'), join(workspace, 'd/c'));
    const part = fc.constantFrom(
      'a',
      'b',
      'c',
      'd',
      'l',
      '..',
      '.',
      '',
      'secret',
      'workspace',
      '\\x2e\\x2e',
      '\\x2f',
    );
    const open = readdirSync('/proc/self/fd').length;
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
        const read = readWorkspaceFile(workspace, parts.join('/'), 100);
        expect(read.status === 'read' ? read.bytes.toString() : 'text').toBe('text');
      }),
      { numRuns: 2_000 },
    );
    expect(readdirSync('/proc/self/fd').length).toBe(open);
  });
});
