import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sharedAgent } from '../fixtures/commands/as-agent.ts';
import { type CommandEnd, openCommandGateway, sharedGateway } from '../fixtures/commands/index.ts';
import { leftovers, NO_TRACES, traces } from '../fixtures/commands/leftovers.ts';

const SEARCH_PATH = ['/usr/local/bin', '/usr/bin', '/bin'];

/** Nothing, where node lies where commands are looked for; else what an operator writes whose node is elsewhere. */
function nodeSettings(): string {
  if (SEARCH_PATH.some((directory) => existsSync(join(directory, 'node')))) return '';
  const bin = dirname(realpathSync(process.execPath));
  return settings({ read_only: [dirname(bin)], search_path: [...SEARCH_PATH, bin] });
}

function settings(process: Readonly<Record<string, readonly string[]>>): string {
  const lines = Object.entries(process).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `[process]\n${lines.join('\n')}\n`;
}

const gateway = sharedGateway(nodeSettings());
const { workspace } = gateway;

/** Writes a file into a directory of the workspace. */
function put(path: string, text: string): void {
  mkdirSync(dirname(join(workspace, path)), { recursive: true });
  writeFileSync(join(workspace, path), text);
}

/** Runs a program with nothing but its words; gives what it printed, and throws unless it ended well. */
async function out(cwd: string, command: string, ...args: string[]): Promise<string> {
  mkdirSync(join(workspace, cwd), { recursive: true });
  return printed(await gateway.run({ command, args, cwd }));
}

/** A directory with a program of its own, as a tool that a user has installed. */
function programElsewhere(): string {
  const directory = mkdtempSync('/var/tmp/palisade-test-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  chmodSync(directory, 0o755);
  writeFileSync(join(directory, 'greet'), '#!/bin/sh\necho greetings\n', { mode: 0o755 });
  return directory;
}

function printed(end: CommandEnd): string {
  if (end.code !== 'ok') throw new Error(`${end.code}: ${end.message}\n${end.output?.stderr}`);
  expect(end.execution?.tier).toBe('c');
  return end.output?.stdout ?? '';
}

const ADA = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];

const PYTHON = `
import json, multiprocessing, os, sqlite3, subprocess, tempfile, threading, time
squares = []
threads = [threading.Thread(target=lambda n: squares.append(n * n), args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
db = sqlite3.connect("notes.db")
db.execute("pragma journal_mode=wal")
db.execute("create table notes (text)")
db.execute("insert into notes values ('kept')")
db.commit()
with tempfile.NamedTemporaryFile("w+") as file:
    file.write("x" * 1000); file.flush()
    size = os.path.getsize(file.name)
with multiprocessing.Pool(2) as pool: doubled = pool.map(abs, [-1, -2])
print(json.dumps({
    "squares": sum(squares), "note": db.execute("select text from notes").fetchone()[0],
    "child": subprocess.run(["uname", "-s"], capture_output=True, text=True, check=True).stdout.strip(),
    "temp": size, "pool": doubled, "encoding": "ž".encode().hex(), "home": os.path.isdir(os.path.expanduser("~")),
    "year": time.localtime().tm_year > 2000,
}))
`;

const NODE = `
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { Worker } from 'node:worker_threads';
const worker = new Worker('require("node:worker_threads").parentPort.postMessage(6 * 7)', { eval: true });
const [answer] = await once(worker, 'message');
writeFileSync('answer.txt', String(answer));
writeFileSync(tmpdir() + '/scratch', 'x');
const child = spawn('cat', ['answer.txt'], { stdio: ['ignore', 'pipe', 'inherit'] });
const [chunk] = await once(child.stdout, 'data');
const server = createServer((_, response) => response.end('from itself')).listen(0, '127.0.0.1');
await once(server, 'listening');
const page = await (await fetch('http://localhost:' + server.address().port)).text();
server.close();
console.log(JSON.stringify({
  answer, file: readFileSync('answer.txt', 'utf8'), child: String(chunk), shell: execFileSync('sh', ['-c', 'echo $0']).toString(), page,
}));
`;

const MAKEFILE = `prog: main.o add.o
	$(CC) -o $@ $^
%.o: %.c
	$(CC) -O2 -Wall -c -o $@ $<
`;
const MAIN_C =
  '#include <stdio.h>\nint add(int, int);\nint main(void) { printf("%d\\n", add(40, 2)); return 0; }\n';
const ADD_C = 'int add(int a, int b) { return a + b; }\n';

describe('in a jail, with the settings that a new installation has,', () => {
  test('git keeps a history with branches and merges them', async () => {
    const git = (...words: string[]) => out('repo', 'git', ...ADA, ...words);
    await git('init', '-q', '-b', 'main');
    put('repo/one.txt', 'one\n');
    await git('add', '.');
    await git('commit', '-q', '-m', 'first');
    await git('checkout', '-q', '-b', 'side');
    put('repo/two.txt', 'two\n');
    await git('add', 'two.txt');
    await git('commit', '-q', '-m', 'second');
    await git('checkout', '-q', 'main');
    put('repo/one.txt', 'one and more\n');
    expect(await git('status', '--short')).toBe(' M one.txt\n');
    expect(await git('diff', '--stat')).toContain('1 insertion(+), 1 deletion(-)');
    await git('commit', '-q', '-a', '-m', 'third');
    await git('merge', '-q', '-m', 'merged', 'side');
    const log = await git('log', '--format=%s');
    expect(log.split('\n').slice(0, 4).sort()).toEqual(['first', 'merged', 'second', 'third']);
    expect(await git('branch')).toBe('* main\n  side\n');
    expect(await git('fsck')).toBe('');
    // What git wrote is the host's user's to go on with.
    expect(readFileSync(join(workspace, 'repo/two.txt'), 'utf8')).toBe('two\n');
  });

  test('python3 runs threads, processes, a database and temporary files', async () => {
    put('py/work.py', PYTHON);
    expect(JSON.parse(await out('py', 'python3', 'work.py'))).toEqual({
      ...{ squares: 140, note: 'kept', child: 'Linux', temp: 1000, pool: [1, 2] },
      ...{ encoding: 'c5be', home: true, year: true },
    });
  });

  test('node runs workers, files, children and a server of its own', async () => {
    put('js/work.mjs', NODE);
    expect(JSON.parse(await out('js', 'node', 'work.mjs'))).toEqual({
      ...{ answer: 42, file: '42', child: '42', shell: 'sh\n', page: 'from itself' },
    });
  });

  test('npm makes a package and runs its scripts without a network', async () => {
    await out('pkg', 'npm', 'init', '-y');
    await out('pkg', 'npm', 'pkg', 'set', 'scripts.greet=node -p "6*7"');
    expect(JSON.parse(readFileSync(join(workspace, 'pkg/package.json'), 'utf8'))).toMatchObject({
      name: 'pkg',
      scripts: { greet: 'node -p "6*7"' },
    });
    expect(await out('pkg', 'npm', 'run', '--silent', 'greet')).toBe('42\n');
  });

  test('gcc and make build a program of two files, which runs', async () => {
    put('c/main.c', MAIN_C);
    put('c/add.c', ADD_C);
    put('c/Makefile', MAKEFILE);
    const made = await out('c', 'make', '-j4');
    expect(made.split('\n').filter((line) => line.startsWith('cc'))).toHaveLength(3);
    expect(await out('c', './prog')).toBe('42\n');
    expect(await out('c', 'make')).toContain("'prog' is up to date");
    await out('c', 'gcc', '-O2', '-pthread', '-o', 'direct', 'main.c', 'add.c');
    expect(await out('c', './direct')).toBe('42\n');
  });

  test('tar packs, lists and unpacks', async () => {
    put('tar/in/a.txt', 'a');
    put('tar/in/deep/b.txt', 'b');
    await out('tar', 'tar', 'czf', 'all.tgz', 'in');
    expect((await out('tar', 'tar', 'tzf', 'all.tgz')).split('\n').sort()).toContain('in/deep/b.txt');
    mkdirSync(join(workspace, 'tar/out'));
    await out('tar', 'tar', 'xzf', 'all.tgz', '-C', 'out');
    expect(readFileSync(join(workspace, 'tar/out/in/deep/b.txt'), 'utf8')).toBe('b');
  });

  test('ripgrep, awk, perl and sqlite3 read and write what is in the workspace', async () => {
    put('text/list.txt', 'apple 3\nbanana 5\ncherry 7\n');
    expect(await out('text', 'rg', '--line-number', 'an+a', '.')).toBe('./list.txt:2:banana 5\n');
    expect(await out('text', 'awk', '{ sum += $2 } END { print sum }', 'list.txt')).toBe('15\n');
    await out('text', 'perl', '-pi', '-e', 's/apple/pear/', 'list.txt');
    expect(readFileSync(join(workspace, 'text/list.txt'), 'utf8')).toMatch(/^pear 3\n/);
    const sql = 'create table t (n); insert into t values (20), (22); select sum(n) from t;';
    expect(await out('text', 'sqlite3', 'numbers.db', sql)).toBe('42\n');
    expect(await out('text', 'sqlite3', 'numbers.db', 'select count(*) from t')).toBe('2\n');
  });

  test('curl reads a file of the workspace, and says clearly that there is no network', async () => {
    put('web/page.txt', 'a page');
    expect(await out('web', 'curl', '-sS', `file://${join(workspace, 'web/page.txt')}`)).toBe('a page');
    const named = await gateway.run({ command: 'curl', args: ['-sS', 'https://example.com/'] });
    expect(named).toMatchObject({ code: 'tier/exited', output: { exitCode: 6, stdout: '' } });
    expect(named.output?.stderr).toContain('Could not resolve host');
    const direct = await gateway.run({
      command: 'curl',
      args: ['-sS', '--max-time', '5', 'http://192.0.2.1/'],
    });
    expect(direct).toMatchObject({ code: 'tier/exited', output: { exitCode: 7 } });
    expect(direct.output?.stderr).toContain("Couldn't connect");
  });

  test('a shell finds a home, places for temporary files, a locale, a user and the time', async () => {
    const script =
      'touch ~/x "$TMPDIR/x" /dev/shm/x && id -un && date +%Z && locale charmap && readlink -f /etc/alternatives/awk';
    expect(await out('.', 'sh', '-c', script)).toMatch(/^palisade\n\S+\nUTF-8\n\/usr\/bin\/\w+\n$/);
  });

  test('a program that lives elsewhere is not found by its name, and refused by its path', async () => {
    const elsewhere = programElsewhere();
    const byName = await gateway.run({ command: 'greet' });
    expect(byName.code).toBe('runner/not-found');
    expect(byName.message).toContain(`it is not in ${SEARCH_PATH.join(', ')}`);
    const byPath = await gateway.run({ command: join(elsewhere, 'greet') });
    expect(byPath.code).toBe('runner/outside-workspace');
    expect(byPath.message).toMatch(/is outside the workspace and the system, expected a program inside/);
  });

  test('a program that lives elsewhere runs once the operator names its place', async () => {
    const elsewhere = programElsewhere();
    const reported = await openCommandGateway(
      settings({ read_only: [elsewhere], search_path: [...SEARCH_PATH, elsewhere] }),
    );
    expect(printed(await reported.run({ command: 'greet' }))).toBe('greetings\n');
  });

  test('and nothing of all this is left on the machine', async () => {
    const before = { ...NO_TRACES, files: traces(gateway.stateDir).files };
    await out('.', 'true');
    expect(await leftovers(gateway.stateDir, before)).toEqual(NO_TRACES);
  });
});

describe('under the policies that a new state directory gets, an agent', () => {
  const agent = sharedAgent('ada');

  test.each<[string, string[], RegExp]>([
    ['git', ['init', '-q'], /^$/],
    ['git', ['status', '--short'], /^\?\? Makefile\n/],
    ['gcc', ['-c', 'main.c'], /^$/],
    ['python3', ['script.py'], /^42\n$/],
    ['make', [], /^cc [\s\S]*\ncc -o prog main.o add.o\n$/],
    ['sh', ['-c', './prog | tr 4 x'], /^x2\n$/],
  ])('runs %s %j', async (command, args, words) => {
    const files = { 'main.c': MAIN_C, 'add.c': ADD_C, Makefile: MAKEFILE, 'script.py': 'print(6 * 7)\n' };
    for (const [name, text] of Object.entries(files)) {
      if (!existsSync(join(agent.workspace, name))) writeFileSync(join(agent.workspace, name), text);
    }
    expect(printed(await agent.run({ command, args }))).toMatch(words);
  });

  test.each([
    ['in tier b', { tier: 'b' }, 'policy/'],
    ['with a network', { egress: 'none' }, 'runner/egress-denied'],
  ])('does not run commands %s', async (_, more, code) => {
    const end = await agent.run({ command: 'true', ...more });
    expect(end.code).toMatch(code);
    expect(end.output).toBeNull();
  });
});
