import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { scratch } from '../fixtures/cli.ts';
import { ACME, publicDocument, samplePackage } from '../fixtures/skills/sample.ts';

/* The disk of the state directory is full in the middle of an install: nothing has changed, and it goes on once there is room. */

const PALISADE = fileURLToPath(new URL('../../packages/gateway/bin/palisade.js', import.meta.url));
const MIB = 1024 * 1024;
const folder = scratch();

/** Types these lines in a shell that has a disk of its own, of 6 MiB; gives what each said, and its status. */
function typed(lines: readonly string[]): readonly string[] {
  const script = lines.map((line) => `${line} 2>&1; echo "status $?"`).join('\n');
  const named = `palisade() { "${process.execPath}" "${PALISADE}" "$@" --state /mnt/state; }\n${script}`;
  const jail = ['--dev-bind', '/', '/', '--size', String(6 * MIB), '--tmpfs', '/mnt', '--'];
  const out = execFileSync('bwrap', [...jail, '/bin/sh', '-c', named], { encoding: 'utf8' });
  return out.split(/(?<=^status \d+\n)/m);
}

test('an install on a full disk is refused, leaves the index and the journal as they were, and can be repeated', () => {
  const [key, file] = [join(folder, 'acme.json'), join(folder, 'large.skill')];
  writeFileSync(key, publicDocument(ACME));
  const ballast = Buffer.alloc(3 * MIB, 'some text that compresses well\n');
  writeFileSync(file, samplePackage({ files: { 'README.md': ballast } }));
  const [, , refused, listed, verified, , again] = typed([
    `palisade trust add acme ${key} --yes`,
    `head -c ${3 * MIB} /dev/zero > /mnt/ballast`,
    `palisade skill install ${file}`,
    'palisade skill list --json',
    'palisade journal verify',
    'rm /mnt/ballast',
    `palisade skill install ${file} --json`,
  ]);
  expect(refused).toContain('store/full');
  expect(refused).toContain('status 2');
  expect(listed).toContain('"skills":[]');
  expect(verified).toContain('verified');
  expect(again).toContain('"state":"quarantined"');
});
