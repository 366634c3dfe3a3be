import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { parseAllowList } from '../packages/gateway/src/egress/allowlist.ts';
import { openProxy } from '../packages/gateway/src/egress/proxy/proxy.ts';

/*
 * One of the processes of the egress bench. Its first word says what it is: the far end, a client, the proxy between them,
 * or a bare pipe in the place of the proxy; its second is the port of the far end. The bench asks over the channel to its
 * parent, one question at a time. The far end does what the first line of a connection says: `take` all and answer how much
 * it was, `give N` bytes, or `echo`.
 */

/** Where a client connects to, and the port it then asks a tunnel to; null where there is no proxy. */
export type Route = { readonly port: number; readonly tunnelTo: number | null };

export type Question =
  /** The answer is the milliseconds until all bytes were there. */
  | { readonly ask: 'move'; readonly way: 'take' | 'give'; readonly bytes: number; readonly route: Route }
  /** Opens tunnels and keeps them; the answer is how many are open. */
  | { readonly ask: 'open'; readonly count: number; readonly route: Route }
  /** Sends bytes through all open tunnels at once; the answer is the milliseconds until all came back unchanged. */
  | { readonly ask: 'echo'; readonly bytes: number }
  /** The answer is the resident memory in bytes after a collection of garbage. */
  | { readonly ask: 'memory' };

const TOKEN = 'the-token-of-the-bench';
const PIECE = Buffer.alloc(64 * 1024, 'x');
const UNLIMITED = Number.MAX_SAFE_INTEGER;
const held: Socket[] = [];

const ROLES: Readonly<Record<string, (farPort: number) => Promise<number>>> = {
  client: async () => 0,
  far: () => listen(createServer({ allowHalfOpen: true }, serveFar)),
  pipe: (farPort) =>
    listen(
      createServer({ allowHalfOpen: true }, (near) => {
        const far = connect({ port: farPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
        near.setNoDelay(true);
        for (const socket of [near, far]) socket.on('error', () => socket.destroy());
        near.pipe(far);
        far.pipe(near);
      }),
    ),
  proxy: (farPort) => {
    const list = parseAllowList([`127.0.0.1:${farPort}`]);
    if (!list.ok) throw new Error('Cannot measure the proxy: its list is malformed');
    const server = createServer();
    openProxy({
      list: () => list.value,
      resolve: { lookup: async () => [], own: { addresses: [], ports: new Set() }, lookupMs: 1_000 },
      credential: TOKEN,
      // Only the sums over a whole bench are beyond what one run gets.
      limits: { bytes: UNLIMITED },
      clock: { nowMs: Date.now, monotonicMs: () => performance.now() },
    }).listen(server);
    return listen(server);
  },
};

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', 2_048, () => resolve((server.address() as AddressInfo).port));
  });
}

function serveFar(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.setNoDelay(true);
  let head = '';
  const onHead = (piece: Buffer) => {
    head += piece.toString('latin1');
    const end = head.indexOf('\n');
    if (end < 0) return;
    socket.off('data', onHead);
    const [word, amount] = head.slice(0, end).split(' ');
    const rest = Buffer.from(head.slice(end + 1), 'latin1');
    if (word === 'echo') {
      socket.write(rest);
      socket.pipe(socket);
    } else if (word === 'give') void pump(socket, Number(amount));
    else void count(socket, rest.length).then((bytes) => socket.end(String(bytes)));
  };
  socket.on('data', onHead);
}

/** Writes so many bytes, no faster than they are taken, and ends. */
async function pump(socket: Socket, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; left -= PIECE.length) {
    const isTaken = socket.write(left < PIECE.length ? PIECE.subarray(0, left) : PIECE);
    if (!isTaken) await new Promise((resolve) => socket.once('drain', resolve));
  }
  socket.end();
}

/** Reads to the end. */
function count(socket: Socket, already: number): Promise<number> {
  let bytes = already;
  return new Promise((resolve, reject) => {
    socket.on('data', (piece: Buffer) => {
      bytes += piece.length;
    });
    socket.once('end', () => resolve(bytes)).once('error', reject);
    socket.resume();
  });
}

async function answer(question: Question): Promise<number> {
  if (question.ask === 'move') return move(question);
  if (question.ask === 'echo') return echoAll(question.bytes);
  if (question.ask === 'memory') {
    globalThis.gc?.();
    return process.memoryUsage.rss();
  }
  const opened = await Promise.all(Array.from({ length: question.count }, () => open(question.route)));
  for (const socket of opened) socket.write('echo\n');
  held.push(...opened);
  return held.length;
}

async function move({ way, bytes, route }: Question & { ask: 'move' }): Promise<number> {
  const socket = await open(route);
  const startedMs = performance.now();
  const came = way === 'take' ? readAll(socket).then(Number) : count(socket, 0);
  socket.write(way === 'take' ? 'take\n' : `give ${bytes}\n`);
  if (way === 'take') await pump(socket, bytes);
  const found = await came;
  const tookMs = performance.now() - startedMs;
  socket.destroy();
  if (found !== bytes) throw new Error(`Cannot measure "${way}": ${found} bytes arrived, expected ${bytes}`);
  return tookMs;
}

async function readAll(socket: Socket): Promise<string> {
  const pieces: Buffer[] = await socket.toArray();
  return Buffer.concat(pieces).toString('latin1');
}

async function echoAll(bytes: number): Promise<number> {
  const startedMs = performance.now();
  await Promise.all(held.map((socket, at) => echo(socket, Buffer.alloc(bytes, `tunnel ${at} `))));
  return performance.now() - startedMs;
}

function echo(socket: Socket, sent: Buffer): Promise<void> {
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const onData = (piece: Buffer) => {
      if (!piece.equals(sent.subarray(bytes, bytes + piece.length)))
        reject(new Error('Cannot measure tunnels: other bytes came back, expected those that were sent'));
      bytes += piece.length;
      if (bytes < sent.length) return;
      socket.off('data', onData);
      resolve();
    };
    socket.on('data', onData);
    socket.once('close', () => reject(new Error('Cannot measure tunnels: one was closed, expected it open')));
    socket.resume();
    socket.write(sent);
  });
}

/** A connection that is ready for its first line. */
async function open({ port, tunnelTo }: Route): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  if (tunnelTo === null) return socket;
  const token = Buffer.from(`run:${TOKEN}`).toString('base64');
  const target = `127.0.0.1:${tunnelTo}`;
  socket.write(
    `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: Basic ${token}\r\n\r\n`,
  );
  const [head] = await new Promise<[Buffer]>((resolve) => socket.once('data', (piece) => resolve([piece])));
  socket.pause();
  const said = head.toString('latin1');
  if (said.startsWith('HTTP/1.1 200 ') && said.endsWith('\r\n\r\n')) return socket;
  throw new Error(`Cannot measure a tunnel: the proxy says "${said}"`);
}

process.on('message', (question: Question) => {
  answer(question).then(
    (value) => process.send?.({ value }),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
process.on('disconnect', () => process.exit());
const [role = '', farPort] = process.argv.slice(2);
const port = await ROLES[role]?.(Number(farPort));
process.send?.({ value: port });
