import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sample } from '../../../../../tests/volume/volume.ts';
import { EVERYTHING, INET, NOTHING, Probe, UNIX } from './probe.ts';

const probe = new Probe();
const folder = () => mkdtempSync(join(probe.directory, 'run-'));

/** Each runs with neither Unix sockets nor the internet, in an empty directory, and ends with `fine`. */
const SHELL: readonly (readonly [name: string, script: string])[] = [
  ['bash', 'exec 3< <(echo fine); (sleep 0 & wait); cat <&3'],
  [
    'git',
    `git init -q . && echo a > a && git add a && git -c user.name=a -c user.email=a@example.com commit -qm a &&
     git clone -q . copy && git -C copy gc -q && git -C copy fsck && echo fine`,
  ],
  [
    'gcc',
    `printf '#include <stdio.h>\\nint main(void) { puts("fine"); }' > a.c && gcc -O2 -pipe -o a a.c && ./a`,
  ],
  ['make', `printf 'a: b c\\n\\t@echo fine\\nb c:\\n\\t@sleep 0\\n' > Makefile && make -s -j4`],
  ['tar', `mkdir a && echo fine > a/b && tar czf a.tgz a && rm -r a && tar xzpf a.tgz && cat a/b`],
  ['cp', 'echo fine > a && chmod 1755 a && cp -a a b && install -m 644 b c && mkfifo d && cat c'],
  ['perl', `perl -e 'my $pid = fork // die; exit 0 if !$pid; waitpid $pid, 0; print \`echo fine\`'`],
  [
    'sqlite3',
    `sqlite3 a.db "pragma journal_mode=wal; create table t(x); insert into t values('fine')" 'select x from t'`,
  ],
  ['curl', 'echo fine > a && curl -sS "file://$PWD/a"'],
  ['flock', 'flock a sh -c "echo fine"'],
  ['id', 'id -u > a && getent passwd 0 > b && ls -l > c && echo fine'],
];

const PYTHON = `
import asyncio, multiprocessing, os, signal, socket, sqlite3, subprocess, sys, tempfile, threading
from concurrent.futures import ProcessPoolExecutor

async def child():
    process = await asyncio.create_subprocess_exec('cat', stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate(b'from a child')
    return out

if __name__ == '__main__':
    said = []
    thread = threading.Thread(target=lambda: said.append('thread'))
    thread.start(); thread.join()
    assert said == ['thread']
    assert subprocess.run(['echo', 'x'], capture_output=True, check=True).stdout == b'x\\n'
    assert asyncio.run(child()) == b'from a child'
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(abs, [-1, -2])) == [1, 2]
    a, b = socket.socketpair()
    a.send(b'x'); assert b.recv(1) == b'x'
    base = sqlite3.connect('python.db')
    base.execute('pragma journal_mode=wal'); base.execute('create table t(x)'); base.commit()
    with tempfile.NamedTemporaryFile() as file: os.chmod(file.name, 0o600)
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
        try: socket.socket(family, socket.SOCK_STREAM if family != socket.AF_NETLINK else socket.SOCK_RAW)
        except PermissionError: continue
        sys.exit(f'{family} is open')
    try: socket.getaddrinfo('example.invalid', 80); sys.exit('a name was found')
    except socket.gaierror: pass
    print('fine')
`;

const NODE = `
const { Worker } = require('node:worker_threads');
const { execFileSync, fork } = require('node:child_process');
const { promises: fs, watch, writeFileSync, cpSync, mkdirSync } = require('node:fs');
const { brotliCompressSync } = require('node:zlib');
const { scrypt } = require('node:crypto');
if (process.argv[2] === 'child') { process.send('hello'); process.disconnect(); return; }
const messageOf = (source) => new Promise((done, fail) => { source.once('message', done); source.once('error', fail); });
(async () => {
  const worker = new Worker('require("node:worker_threads").parentPort.postMessage(1)', { eval: true });
  if (await messageOf(worker) !== 1) throw new Error('worker');
  if (await messageOf(fork(__filename, ['child'])) !== 'hello') throw new Error('fork');
  if (String(execFileSync('echo', ['x'])) !== 'x\\n') throw new Error('exec');
  await new Promise((done, fail) => scrypt('a', 'b', 32, (error) => (error ? fail(error) : done())));
  mkdirSync('from'); writeFileSync('from/a', brotliCompressSync('x'.repeat(1000))); cpSync('from', 'to', { recursive: true });
  await fs.copyFile('to/a', 'b'); await fs.chmod('b', 0o755); watch('.').close();
  console.log('fine');
})();
`;

const SERVER = `
const http = require('node:http');
const server = http.createServer((_, response) => response.end('fine'));
server.listen(0, '127.0.0.1', async () => {
  console.log(await (await fetch('http://127.0.0.1:' + server.address().port)).text());
  server.closeAllConnections(); server.close();
});
`;

const UNIX_SERVER = SERVER.replace("listen(0, '127.0.0.1',", "listen('socket',").replace(
  /console.log.*;/,
  `await new Promise((done) => http.get({ socketPath: 'socket' }, (response) => response.on('data', (chunk) => {
     console.log(String(chunk)); done();
   })));`,
);

function runScript(filter: typeof NOTHING, command: string, [name, text]: readonly [string, string]) {
  const directory = folder();
  writeFileSync(join(directory, name), text);
  return probe.exec(filter, [command, name], directory);
}

const FINE = { status: 0, stdout: expect.stringMatching(/(^|\n)fine\n$/), stderr: '' };

describe('under the filter with no wish', () => {
  it.each(sample(SHELL, 4))('%s works', (_, script) => {
    expect(probe.exec(NOTHING, ['bash', '-c', script], folder())).toEqual(FINE);
  });

  it('python works with threads, processes, asyncio, pools and sqlite, and finds no network', () => {
    expect(runScript(NOTHING, 'python3', ['a.py', PYTHON])).toEqual(FINE);
  });

  it('node works with workers, forks, files and its thread pool', () => {
    expect(runScript(NOTHING, process.execPath, ['a.cjs', NODE])).toEqual(FINE);
  });

  it.each([SERVER, UNIX_SERVER])('node cannot listen', (source) => {
    const { status, stderr } = runScript(NOTHING, process.execPath, ['a.cjs', source]);
    expect({ status, refused: stderr.includes('listen EPERM') }).toEqual({ status: 1, refused: true });
  });

  it('a program stays under the filter through fork and exec', () => {
    const script = `sh -c 'exec env perl -e "print syscall(${process.arch === 'arm64' ? 97 : 272}, 0), qq{ }, \\$!+0"'`;
    expect(probe.exec(null, ['bash', '-c', script]).stdout).toMatch(/^0 /);
    expect(probe.exec(NOTHING, ['bash', '-c', script]).stdout).toBe('-1 1');
  });
});

describe('under the filter with a wish', () => {
  it('node serves on the loopback and fetches from it', () => {
    expect(runScript(INET, process.execPath, ['a.cjs', SERVER])).toEqual(FINE);
  });

  it('node serves on a Unix socket', () => {
    expect(runScript(UNIX, process.execPath, ['a.cjs', UNIX_SERVER])).toEqual(FINE);
  });

  it('python serves on the loopback and curl fetches from it', () => {
    const directory = folder();
    mkdirSync(join(directory, 'served'));
    writeFileSync(join(directory, 'served', 'a'), 'fine\n');
    const script = `
import functools, http.server, subprocess, threading
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory='served')
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
subprocess.run(['curl', '-sS', '--noproxy', '*', f'http://localhost:{server.server_port}/a'], check=True)
`;
    const { status, stdout } = probe.exec(EVERYTHING, ['python3', '-c', script], directory);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'fine\n' });
  });
});
