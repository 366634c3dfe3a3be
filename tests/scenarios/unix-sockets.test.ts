import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';

/* Programs whose parts talk over Unix sockets, as they do without a sandbox. */

const jail = sharedGateway();

const NODE = `
const { createServer, connect } = require('node:net');
const { fork } = require('node:child_process');
const path = require('node:fs').readFileSync('where', 'utf8');
if (process.argv[2] === 'child') {
  connect(path).on('data', (data) => process.stdout.write(data)).on('error', (error) => console.log(error.code)).write('hello');
  return;
}
const server = createServer((socket) => socket.on('error', () => undefined).on('data', (data) => socket.end(data + ' back\\n')));
server.listen(path, () => fork(__filename, ['child']).on('exit', () => server.close()));
`;

const MANAGER = `
from multiprocessing import Manager, Process
from multiprocessing.connection import Client, Listener
def add(shared, key): shared[key] = key * 2
if __name__ == '__main__':
    with Manager() as manager:
        shared = manager.dict()
        workers = [Process(target=add, args=(shared, key)) for key in range(4)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
        print(dict(sorted(shared.items())))
    with Listener('work.sock') as listener, Client('work.sock') as client:
        print(client.writable)
`;

const PACKETS = `
import os, socket
end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
end.bind('packets.sock'); end.listen()
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
    one.connect('packets.sock')
    socket.send_fds(one, [b'x'], [os.open('/etc/hosts', os.O_RDONLY)])
    message = b''
    # The first connection, without a word, is the one by which the sandbox found out who listens.
    while not message: message, fds, _, _ = socket.recv_fds(end.accept()[0], 8, 1)
print(message, len(os.read(fds[0], 9)))
`;

describe('Unix sockets between the processes of a command', () => {
  test.each([['/tmp/everyday.sock'], ['everyday.sock'], ['/dev/shm/everyday.sock']])(
    'serve node at %s',
    async (path) => {
      writeFileSync(join(jail.workspace, 'serve.cjs'), NODE);
      writeFileSync(join(jail.workspace, 'where'), path);
      const end = await jail.run({ command: 'node', args: ['serve.cjs'], tier: 'c' });
      expect(end.output?.stdout, `${end.message} ${end.output?.stderr}`).toBe('hello back\n');
    },
  );

  test('serve managers of Python', async () => {
    writeFileSync(join(jail.workspace, 'manager.py'), MANAGER);
    const end = await jail.run({ command: 'python3', args: ['manager.py'], tier: 'c' });
    expect(end.output?.stdout, end.output?.stderr).toBe('{0: 0, 1: 2, 2: 4, 3: 6}\nTrue\n');
  });

  test('pass packets and descriptors', async () => {
    const end = await jail.run({ command: 'python3', args: ['-'], stdin: PACKETS, tier: 'c' });
    expect(end.output?.stdout, end.output?.stderr).toBe("b'x' 9\n");
  });
});
