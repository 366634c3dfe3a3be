import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { interpreterLine } from '../../src/runner/judged-files.ts';
import { accept, type Host, makeHost } from './sample.ts';

const DASH = realpathSync('/bin/sh');

function put(path: string, text: string): string {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

const filesOf = (host: Host, command: string) => accept(host, { command }).terms.files;

describe('the files of a command', () => {
  it('are one program, which root alone can change where it is of the system', () => {
    const [cat, ...rest] = filesOf(makeHost(), 'cat');
    expect(rest).toEqual([]);
    expect(cat).toMatchObject({ path: realpathSync('/bin/cat'), interpreter: [], isPinned: false });
    expect(cat?.identity).toMatch(/^\d+(:\d+){6}$/);
  });

  it('are a script and what reads it, as the kernel reads its first line', () => {
    const host = makeHost();
    const tool = put(join(host.workspace, 'tool'), '#! /bin/sh  -e -u \n');
    expect(filesOf(host, './tool')).toMatchObject([
      { path: tool, interpreter: ['/bin/sh', '-e -u'], identity: null, isPinned: false },
      { path: DASH, interpreter: [], identity: expect.stringMatching(/:/) },
    ]);
  });

  it('are held to their digests in a workspace, if they are programs that are small enough', () => {
    const host = makeHost();
    put(join(host.workspace, 'small'), '\x7fELF');
    put(join(host.workspace, 'large'), '\x7fELF'.padEnd(8 * 1024 * 1024 + 1, 'x'));
    put(join(host.workspace, 'other'), 'MZ');
    const pinned = (name: string) =>
      filesOf(host, name).map(({ isPinned, identity }) => [isPinned, identity]);
    expect(pinned('./small')).toEqual([[true, null]]);
    expect(pinned('./large')).toEqual([[false, null]]);
    expect(pinned('./other')).toEqual([[false, null]]);
  });

  it('count as changeable where any other user can write on the way to them', () => {
    const host = makeHost();
    mkdirSync(join(host.outside, 'shown'));
    put(join(host.outside, 'shown/tool'), '\x7fELF');
    const settings = { ...host.settings, readOnly: [join(host.outside, 'shown')] };
    const [file] = filesOf({ ...host, settings }, join(host.outside, 'shown/tool'));
    // Temporary directories are writable for all, no matter who owns the file.
    expect(file).toMatchObject({ identity: null, isPinned: true });
  });

  it('end with a script whose interpreter is missing', () => {
    const host = makeHost();
    put(join(host.workspace, 'tool'), '#!/no/such/interpreter\n');
    expect(filesOf(host, './tool')).toMatchObject([{ interpreter: ['/no/such/interpreter'] }]);
  });

  it('are found where a jail shows the workspace', () => {
    const host = makeHost();
    put(join(host.workspace, 'tool'), '#!/workspace/bin/python\n');
    mkdirSync(join(host.workspace, 'bin'));
    symlinkSync('/bin/sh', join(host.workspace, 'bin/python'));
    expect(filesOf(host, './tool')).toMatchObject([
      { interpreter: ['/workspace/bin/python'] },
      { path: DASH },
    ]);
  });
});

describe('interpreterLine()', () => {
  it('reads the first line as the kernel does', () => {
    const words = (text: string) => interpreterLine(Buffer.from(text));
    expect(words('#!/bin/sh\nrest')).toEqual(['/bin/sh']);
    expect(words('#! \t/bin/sh \t -e -u \t\n')).toEqual(['/bin/sh', '-e -u']);
    expect(words('#!/bin/sh')).toEqual(['/bin/sh']);
    expect(words('#!./here\n')).toEqual(['./here']);
    expect(words('#!here\n')).toEqual(['here']);
    expect(words('#!/bin/sh\0 -e\n')).toEqual(['/bin/sh']);
    expect(words(' #!/bin/sh\n')).toBeNull();
    expect(words('#!\n/bin/sh')).toBeNull();
    expect(words(`#!/${'x'.repeat(300)}`.slice(0, 256))).toBeNull();
    expect(words(`#!/bin/sh ${'x'.repeat(300)}`.slice(0, 256))).toEqual(['/bin/sh', 'x'.repeat(246)]);
  });

  it('finds in any bytes nothing, or a name without spaces and perhaps one argument', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 256 }), (bytes) => {
        const found = interpreterLine(Buffer.concat([Buffer.from('#!'), bytes]).subarray(0, 256));
        expect(found === null || (found.length <= 2 && /^[^ \t\0\n]+$/.test(found[0] ?? ''))).toBe(true);
      }),
      { numRuns: volume(5_000, 200) },
    );
  });
});
