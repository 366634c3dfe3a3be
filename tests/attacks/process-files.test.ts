import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf } from '../fixtures/commands/probe.ts';

/* A command makes files that are too large, in every way that a file grows, and too many of them. */

const MIB = 1024 * 1024;
const gateway = sharedGateway();
const probe = proberOf(gateway);
const EFBIG = 27;

/** Grows the file "big", with the signal of the limit ignored as Python does, and says what came of it. */
function growing(how: string): string {
  return `
import json, mmap, os
error = None
fd = os.open('big', os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
try:
    ${how}
except OSError as e: error = e.errno
print(json.dumps({'error': error, 'size': os.fstat(fd).st_size}))
`;
}

test.each([
  ['by writing', 'for i in range(64): os.write(fd, b"x" * 65536)'],
  ['by writing far behind its end', 'os.pwrite(fd, b"x", 3 << 20)'],
  ['by setting its size', 'os.ftruncate(fd, 3 << 20)'],
  ['by reserving room', 'os.posix_fallocate(fd, 0, 3 << 20)'],
  [
    'by having the kernel copy',
    'z = os.open("/dev/zero", 0); n = 1\n    while n: n = os.sendfile(fd, z, None, 1 << 20) and os.fstat(fd).st_size < 3 << 20',
  ],
])('a file that grows %s stops at its limit', async (_, how) => {
  const end = await probe(growing(how), { limits: { file_size_bytes: MIB } });
  expect(printedBy(end).error).toBe(EFBIG);
  expect(printedBy(end).size).toBeLessThanOrEqual(MIB);
  expect(statSync(join(gateway.workspace, 'big')).size).toBeLessThanOrEqual(MIB);
  const control = printedBy(await probe(growing(how), { limits: { file_size_bytes: 8 * MIB } }));
  expect(control.error).toBe(null);
  expect(control.size).toBeGreaterThan(MIB);
});

test('a program that lets the signal end it is told apart, with what it wrote', async () => {
  const args = ['if=/dev/zero', 'of=big', 'bs=65536', 'count=64'];
  const limits = { file_size_bytes: MIB };
  const end = await gateway.run({ command: 'dd', args, tier: 'b', limits });
  expect(end).toMatchObject({ code: 'tier/exited', output: { limit: 'file_size', signal: 'SIGXFSZ' } });
  expect(end.output?.changes).toContainEqual(expect.objectContaining({ path: 'big' }));
  expect(await gateway.run({ command: 'dd', args, tier: 'b' })).toMatchObject({ code: 'ok' });
});

test('thousands of files do not make the answer grow, and the answer says that there are more', async () => {
  const many = `
import os
os.mkdir('many')
for i in range(3000): os.close(os.open(f'many/{i}', os.O_CREAT | os.O_WRONLY))
d = 'deep'
for i in range(400):
    os.mkdir(d); d += '/d'
`;
  const end = await probe(many);
  expect(end.code).toBe('ok');
  expect(end.output?.changes.length).toBeLessThanOrEqual(200);
  expect((end.output as { moreChanges?: number } | null)?.moreChanges).toBeGreaterThan(2800);
});

test('a file that a command deletes while it writes is held to the same limit', async () => {
  const program = growing('os.unlink("big"); [os.write(fd, b"x" * 65536) for i in range(64)]');
  expect(printedBy(await probe(program, { limits: { file_size_bytes: MIB } }))).toEqual({
    error: EFBIG,
    size: MIB,
  });
  expect(existsSync(join(gateway.workspace, 'big'))).toBe(false);
});
