import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { EVASIONS, type Evasion, LINKER, type Made, PYTHON } from '../fixtures/evasions/evasions.table.ts';

/*
 * A program is made to start another one in tier B, in every way of the table. With the guard the command is refused, or
 * the row is listed as not held; without it the payload runs, and reads a file outside the workspace; in tier C the payload
 * runs as well and finds no such file.
 */

// ssh wants its user to have a name: that of the tests, or nobody where they are root.
const SETTINGS = '[process]\nsnapshots = "off"\nwall_ms = 60_000\nfirst_uid = 65534\n';
const guarded = sharedGateway(SETTINGS);
const unguarded = sharedGateway(`${SETTINGS}interpreters = ["*"]\n`);
const jailed = sharedGateway(SETTINGS);
const outside = mkdtempSync('/var/tmp/palisade-outside-');
const canary = join(outside, 'canary.txt');
const SECRET = 'canary-of-the-outside';
const SHELL = realpathSync('/bin/sh');
const DYNAMIC_LINKER =
  ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1', '/lib/ld-musl-x86_64.so.1'].find(
    existsSync,
  ) ?? '';

type Tried = { readonly end: CommandEnd; readonly found: string };
type Shape = 'guarded' | 'unguarded' | 'jailed';
const GATEWAYS = { guarded, unguarded, jailed };
const tried: Record<Shape, Map<string, Tried>> = {
  guarded: new Map(),
  unguarded: new Map(),
  jailed: new Map(),
};

// Only calls are permitted: a policy that permits every action permits interpreters too.
for (const { stateDir } of Object.values(GATEWAYS))
  writeFileSync(
    join(stateDir, 'policies/all.cedar'),
    '@id("all")\npermit (principal, action == Action::"call", resource);\n',
  );

beforeAll(async () => {
  chmodSync(outside, 0o755);
  writeFileSync(canary, SECRET, { mode: 0o644 });
  await Promise.all(
    (Object.keys(GATEWAYS) as Shape[]).flatMap((shape) => EVASIONS.map((row, i) => attempt(shape, row, i))),
  );
}, 240_000);
afterAll(() => rmSync(outside, { recursive: true }));

async function attempt(shape: Shape, row: Evasion, index: number): Promise<void> {
  const { workspace, run } = GATEWAYS[shape];
  const directory = join(workspace, `row-${index}`);
  prepare(directory, row);
  const end = await run({
    command:
      row.command === LINKER ? DYNAMIC_LINKER : row.command === PYTHON ? versioned('python3') : row.command,
    args: row.args ?? [],
    cwd: directory,
    tier: shape === 'jailed' ? 'c' : 'b',
    ...(row.stdin === undefined ? {} : { stdin: row.stdin }),
  });
  const found = join(directory, 'found');
  tried[shape].set(row.name, { end, found: existsSync(found) ? readFileSync(found, 'utf8') : '' });
}

function prepare(directory: string, { files = {}, makes }: Evasion): void {
  mkdirSync(directory);
  // The path of the canary stands in no argument: nothing that reads arguments finds it.
  const payload = `#!/bin/sh\n{ echo ran; cat ${canary}; } > ${directory}/$$ 2>/dev/null\nmv ${directory}/$$ ${directory}/found\n`;
  writeFileSync(join(directory, 'payload'), payload, { mode: 0o755 });
  if (makes !== undefined) MAKERS[makes](directory);
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    if (name.startsWith('.git/config')) appendFileSync(path, text);
    else writeFileSync(path, text, { mode: 0o755 });
  }
}

const MAKERS: Readonly<Record<Made, (directory: string) => void>> = {
  'link to a shell': (at) => symlinkSync(SHELL, join(at, 'ls')),
  'copy of a shell': (at) => copyFileSync(SHELL, join(at, 'ls')),
  'changed copy of a shell': (at) => {
    copyFileSync(SHELL, join(at, 'ls'));
    appendFileSync(join(at, 'ls'), '\n');
  },
  'hard link to a copy': (at) => {
    copyFileSync(SHELL, join(at, 'cat'));
    linkSync(join(at, 'cat'), join(at, 'ls'));
  },
  'copy of the linker': (at) => {
    copyFileSync(realpathSync(DYNAMIC_LINKER), join(at, 'ls'));
    chmodSync(join(at, 'ls'), 0o755);
  },
  'compiled program': (at) => {
    const source =
      '#include <unistd.h>\nint main(void) { return execl("./payload", "payload", (char *)0); }\n';
    execFileSync('cc', ['-x', 'c', '-o', join(at, 'program'), '-'], { input: source });
  },
  'link to an unknown launcher': (at) => symlinkSync('/usr/sbin/fstab-decode', join(at, 'diff')),
  'link to git in a repository': (at) => {
    makeRepository(at);
    symlinkSync('/usr/bin/git', join(at, 'git-clone'));
  },
  repository: makeRepository,
};

function makeRepository(at: string): void {
  execFileSync('git', ['init', '-q', at]);
  mkdirSync(join(at, '.git/hooks'), { recursive: true });
}

function versioned(name: string): string {
  return basename(realpathSync(`/usr/bin/${name}`));
}

function of(shape: Shape, { name }: Evasion): Tried {
  const found = tried[shape].get(name);
  if (found === undefined) throw new Error(`Cannot judge "${name}": it was not tried`);
  return found;
}

test('there are at least forty evasions, each with a name of its own', () => {
  expect(new Set(EVASIONS.map(({ name }) => name)).size).toBe(EVASIONS.length);
  expect(EVASIONS.length).toBeGreaterThanOrEqual(40);
});

describe.each(EVASIONS.map((row) => [row.name, row] as const))('%s', (_, row) => {
  test('works where the guard is off: the payload reads a file outside the workspace', () => {
    const { found, end } = of('unguarded', row);
    expect(found, `${end.code} ${end.message} ${end.output?.stderr}`).toBe(`ran\n${SECRET}`);
  });

  test(row.unseen === undefined ? 'is refused, and starts nothing' : 'is documented as not held', () => {
    const { found, end } = of('guarded', row);
    if (row.unseen !== undefined) {
      expect(found).toBe(`ran\n${SECRET}`);
      return;
    }
    expect(end).toMatchObject({ code: 'policy/denied', output: null });
    expect(end.message).toMatch(/, which tier "b" does not confine, and no policy permits it$/);
    expect(end.remedy).toContain('Tier "c" would be allowed');
    expect(found).toBe('');
  });

  test('runs in tier C, and finds only the jail', () => {
    const { found, end } = of('jailed', row);
    expect(end.execution, `${end.code} ${end.message}`).toMatchObject({ tier: 'c' });
    expect(found, `${end.code} ${end.message} ${end.output?.stderr}`).toBe('ran\n');
  });
});

describe('settings of the home, which is the workspace in tier B', () => {
  const row = { name: 'an alias of rsync', command: 'rsync', args: ['--wanted', 'host:there', 'here'] };

  test.each([
    ['guarded', `ran\n${SECRET}`],
    ['jailed', ''],
  ] as const)(
    'are documented as not held by tier B, and are not read in tier C: %s',
    async (shape, found) => {
      writeFileSync(join(GATEWAYS[shape].workspace, '.popt'), 'rsync alias --wanted --rsh=./payload\n');
      await attempt(shape, row, EVASIONS.length);
      expect(of(shape, row).found).toBe(found);
    },
  );
});
