import { chmodSync, copyFileSync, lstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf, RUN_UID, runBare } from '../fixtures/commands/probe.ts';

/* A command starts programs that give their caller the rights of their owner, and tries to leave such a program behind. */

const gateway = sharedGateway();
const probe = proberOf(gateway);
const SET_ID = 0o6000;

/** Programs of the system that run as root whoever starts them. */
const ROOTS = ['/usr/bin', '/bin', '/usr/sbin']
  .flatMap((place) => readdirSync(place).map((name) => join(place, name)))
  .filter((path) => isSetUid(path));

/** The loader shows what the kernel told a program, but never to one that runs with other rights than its caller's. */
const ASK_LOADER = `
import json, os, subprocess, sys
said = {}
for path in json.load(sys.stdin):
    out = subprocess.run([path, '--help'], env={'LD_SHOW_AUXV': '1'}, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    lines = dict(line.split(':', 1) for line in out.splitlines() if line.startswith('AT_'))
    said[path] = [lines.get('AT_EUID', '?').strip(), lines.get('AT_SECURE', '?').strip()]
print(json.dumps(said))
`;

test('a program of root gives a command no rights', async () => {
  expect(ROOTS).not.toEqual([]);
  const stdin = JSON.stringify(ROOTS);
  const observed = printedBy(await probe(ASK_LOADER, { stdin }));
  for (const path of ROOTS) expect([path, observed[path]]).toEqual([path, [String(RUN_UID), '0']]);
  const bare = JSON.parse(runBare(ASK_LOADER, stdin));
  for (const path of ROOTS) expect([path, bare[path]]).toEqual([path, ['?', '?']]);
});

test('no command can make a program with rights, by any call', async () => {
  const make = `
import json, os, shutil
answers = {}
def attempt(name, act):
    try: act(); answers[name] = oct(os.stat(name).st_mode & 0o6000)
    except OSError as e: answers[name] = type(e).__name__
for name in ['chmod', 'fchmod', 'open', 'mkdir', 'copy']: shutil.copy('/usr/bin/id', name) if name in ('chmod', 'fchmod') else None
attempt('chmod', lambda: os.chmod('chmod', 0o4755))
attempt('fchmod', lambda: os.fchmod(os.open('fchmod', os.O_RDONLY), 0o6755))
attempt('open', lambda: os.close(os.open('open', os.O_CREAT | os.O_WRONLY, 0o4755)))
attempt('mkdir', lambda: os.mkdir('mkdir', 0o2755))
attempt('node', lambda: os.mknod('node', 0o104755))
print(json.dumps(answers))
`;
  const end = await probe(make);
  for (const [name, answer] of Object.entries(printedBy(end))) {
    expect([name, answer]).toEqual([name, expect.stringMatching(/^(PermissionError|0o0)$/)]);
  }
  const left = readdirSync(gateway.workspace).filter((name) => isSetId(join(gateway.workspace, name)));
  expect(left).toEqual([]);
  // The control: a user may do so with its own files.
  const directory = mkdtempSync('/var/tmp/palisade-setuid-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  chmodSync(directory, 0o777);
  expect(JSON.parse(runBare(make, '', directory))).toMatchObject({
    chmod: '0o4000',
    fchmod: '0o6000',
    open: '0o4000',
  });
});

test('a program with rights that lies in the workspace has none in a run', async () => {
  const path = join(gateway.workspace, 'as-owner');
  copyFileSync('/usr/bin/id', path);
  chmodSync(path, 0o4755);
  const end = await gateway.run({ command: './as-owner', args: ['-u'], tier: 'b' });
  expect(end).toMatchObject({ code: 'ok', output: { stdout: `${RUN_UID}\n` } });
  const outside = asOtherUser(path);
  // The file is the tests' own: where they are root it makes root of another user.
  expect(outside).toBe(`${process.getuid?.()}\n`);
});

/** What the program prints where the run's user starts it in a place that it can walk to. */
function asOtherUser(program: string): string {
  const directory = mkdtempSync('/var/tmp/palisade-setuid-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  chmodSync(directory, 0o711);
  const path = join(directory, 'as-owner');
  copyFileSync(program, path);
  chmodSync(path, 0o4755);
  return runBare(`import os; os.execv(${JSON.stringify(path)}, ["id", "-u"])`);
}

function isSetUid(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.uid === 0 && (stats.mode & 0o4001) === 0o4001;
}

function isSetId(path: string): boolean {
  return (lstatSync(path).mode & SET_ID) !== 0;
}
