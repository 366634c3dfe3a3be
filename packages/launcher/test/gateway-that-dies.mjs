/** A gateway that asks its starter for runs of every kind, as fast as it can, and waits to be killed. */
import { spawn } from 'node:child_process';

const [launcher = '', mark = '', ...user] = process.argv.slice(2);
const namespaces = ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-net', '--new-session'];
const jail = [...namespaces, '--die-with-parent', '--as-pid-1', '--ro-bind', '/', '/', '--proc', '/proc'];
const inside = [launcher, 'mode=run', 'control=3', '--', '/bin/sleep', 'sleep', mark];
const daemons = `(setsid setsid sleep ${mark} &) ; setsid sleep ${mark} & sleep ${mark}`;
const held = ['null', 'null', 'null', 'in', '--', ...user, 'mode=exec', 'keep=3', '--'];

const kinds = [
  ['null', 'null', 'null', '--', ...user, '--', '/bin/sleep', 'sleep', mark],
  ['null', 'null', 'null', '--', ...user, 'ns=1', '--', '/bin/sleep', 'sleep', mark],
  [...held, '/usr/bin/bwrap', 'bwrap', ...jail, ...inside],
  ['null', 'out', 'null', '--', ...user, '--', '/bin/sh', 'sh', '-c', daemons],
  ['null', 'out', 'out', 'in', '--', ...user, '--', '/bin/true', mark],
];

// Its name has the mark, so that what it forks is found before it has become anything else.
const starter = spawn(launcher, ['mode=serve', 'requests=3'], {
  argv0: `starter-${mark}`,
  detached: true,
  env: { ASAN_OPTIONS: 'detect_leaks=0' },
  stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
});
starter.stdio[3].resume();
process.stdout.write(`${starter.pid}\n`);
for (let id = 1; id <= 60; id += 1) {
  send('start', id, ...(kinds[id % kinds.length] ?? []));
  if (id % 9 === 0) send('kill', id - 7);
}

function send(...strings) {
  const text = Buffer.from(strings.map((each) => `${each}\0`).join(''));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(text.length + 4, 0);
  head.writeUInt32LE(text.length, 4);
  starter.stdio[3].write(Buffer.concat([head, text]));
}
