/**
 * A small gateway, for a process of its own: asks a starter for runs, answers on their listeners with the number of the
 * run and of the listener, and says at the end what happened. It answers when `together` connections are there at once.
 */
import { spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';

const { launcher, mark, together, runs } = JSON.parse(process.argv[2] ?? '{}');
const starter = spawn(launcher, ['mode=serve', 'requests=3', 'handles=4'], {
  argv0: `starter-${mark}`,
  cwd: '/',
  detached: true,
  env: { ASAN_OPTIONS: 'detect_leaks=0:exitcode=99', UBSAN_OPTIONS: 'exitcode=99' },
  stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'ipc'],
});
const requests = starter.stdio[3];
const said = { listeners: [], outputs: {}, ends: {} };
const servers = [];
const waiting = [];
const outputs = {};

starter.on('message', ({ run, index }, server) => {
  const { address, port } = server.address();
  said.listeners.push({ run, index, at: `${address} ${port}` });
  servers.push(server);
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    waiting.push(() => socket.end(`run ${run} listener ${index}\n`));
    if (waiting.length >= together) for (const answer of waiting.splice(0)) answer();
  });
});

let rest = '';
requests.setEncoding('latin1').on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) take(line.split(' '));
});
for (const { id, args } of runs) send('start', id, 'null', 'out', 'out', 'handles', '--', ...args);

function take([what, id, ...more]) {
  if (what === 'started') {
    outputs[id] = more.slice(1).map((number) => openSync(`/proc/${starter.pid}/fd/${number}`, 'r'));
    send('took', id);
  } else {
    said.ends[id] = [what, ...more].join(' ');
    if (Object.keys(said.ends).length === runs.length) finish();
  }
}

function finish() {
  for (const [id, [out, error]] of Object.entries(outputs)) {
    said.outputs[id] = { out: readFileSync(out, 'utf8'), error: readFileSync(error, 'utf8') };
  }
  starter.once('exit', (code) => {
    for (const server of servers) server.close();
    process.stdout.write(`${JSON.stringify({ ...said, code })}\n`);
  });
  requests.end();
}

function send(...strings) {
  const text = Buffer.from(strings.map((each) => `${each}\0`).join(''));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(text.length + 4, 0);
  head.writeUInt32LE(text.length, 4);
  requests.write(Buffer.concat([head, text]));
}
