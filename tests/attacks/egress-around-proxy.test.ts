import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { PATIENT, tryInside, tryOutside } from '../fixtures/egress/inside.ts';
import { HAS_SIX, OWN_FOUR, OWN_SIX } from '../fixtures/egress/own-addresses.ts';

const HOME = '127.0.0.1';
const GROUP = '224.0.0.251';
const PROGRAM = 'goes-around.py';
/** What getaddrinfo says where nobody answers: EAI_AGAIN or EAI_NONAME. */
const NO_NAME = expect.stringMatching(/^-[23]$/);

/** Places of the world; only a run, which has no way there, ever calls them. */
const WORLD = {
  resolver: ['8.8.8.8', 53],
  'resolver over TLS': ['8.8.8.8', 853],
  'resolver over HTTPS': ['8.8.8.8', 443],
  metadata: ['169.254.169.254', 80],
  'private network': ['10.0.0.1', 80],
  six: ['2001:4860:4860::8888', 53],
  'metadata over IPv6': ['fd00:ec2::254', 80],
} as const;
const WORLD_GROUPS = {
  mDNS: ['224.0.0.251', 5353],
  LLMNR: ['224.0.0.252', 5355],
  broadcast: ['255.255.255.255', 53],
} as const;
const NAMES = ['secret.attacker.test', 'example.com', 'metadata.google.internal', 'printer.local'];

/** Programs that make connections of their own; what they are told is a port of 127.0.0.1. */
const TOOLS: Readonly<Record<string, string>> = {
  bash: 'echo hello > /dev/tcp/127.0.0.1/$PORT',
  curl: "curl --silent --noproxy '*' --max-time 3 http://127.0.0.1:$PORT/",
  git: 'GIT_TERMINAL_PROMPT=0 git ls-remote git://127.0.0.1:$PORT/x.git',
  ssh: 'ssh -F /dev/null -o BatchMode=yes -o ConnectTimeout=3 -p $PORT nobody@127.0.0.1 true',
  nc: 'echo hello | nc -w 3 127.0.0.1 $PORT',
  wget: 'wget --no-proxy --tries=1 --timeout=3 -O - http://127.0.0.1:$PORT/',
  socat: 'echo hello | socat -T3 - TCP:127.0.0.1:$PORT',
  perl: `perl -MIO::Socket::INET -e 'IO::Socket::INET->new("127.0.0.1:$ENV{PORT}") or die'`,
  openssl: 'echo | timeout 3 openssl s_client -connect 127.0.0.1:$PORT',
};

/** Listens for everything on every address of the host, and keeps who came. */
async function listenEverywhere() {
  const callers: string[] = [];
  const server = createServer((socket) => {
    callers.push('call');
    socket.on('error', () => undefined).resume();
  }).listen(0, HAS_SIX ? '::' : '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const datagrams = createSocket(HAS_SIX ? 'udp6' : 'udp4');
  datagrams.on('message', (_, { port: from, address }) => {
    callers.push('datagram');
    datagrams.send('heard', from, address);
  });
  datagrams.bind(0);
  const group = createSocket({ type: 'udp4', reuseAddr: true }, () => callers.push('to all'));
  group.bind(0);
  await Promise.all([once(datagrams, 'listening'), once(group, 'listening')]);
  group.addMembership(GROUP, HOME);
  onTestFinished(() => {
    server.close();
    datagrams.close();
    group.close();
  });
  return { callers, port, datagramPort: datagrams.address().port, groupPort: group.address().port };
}

describe.each(['c', 'b'])('a run in tier %s that goes around its proxy', (tier) => {
  test('reaches nothing of the host and nothing of the world, by no kind of socket', async () => {
    const listed = await startServer();
    const { callers, port, datagramPort, groupPort } = await listenEverywhere();
    const world = await openEgressWorld({ entries: [`${HOME}:${listed.port}`, 'ok.test'] });
    const own = [HOME, ...(HAS_SIX ? ['::1'] : []), ...OWN_FOUR, ...OWN_SIX];
    const host = {
      tcp: Object.fromEntries(own.map((address) => [`host at ${address}`, [address, port]])),
      udp: Object.fromEntries(own.map((address) => [`host at ${address}`, [address, datagramPort]])),
      groups: { 'all of the host': [GROUP, groupPort] },
    };
    const inside = await tryInside(
      world,
      PROGRAM,
      {
        tcp: { ...host.tcp, ...WORLD, listed: [HOME, listed.port], stub: ['127.0.0.53', 53] },
        udp: { ...host.udp, ...WORLD, stub: ['127.0.0.53', 53] },
        groups: { ...host.groups, ...WORLD_GROUPS },
        names: NAMES,
      },
      { tier },
    );
    expect(callers).toEqual([]);
    const { answers } = inside;
    for (const name of Object.keys(WORLD))
      for (const way of ['', ' at once', ' by datagram'])
        expect(answers[`${name}${way}`], name).toBe('ENETUNREACH');
    for (const name of NAMES) expect(answers[`look up ${name}`], name).toEqual(NO_NAME);
    expect(answers).toMatchObject({
      listed: 'reached',
      'listed at once': 'reached',
      stub: 'ECONNREFUSED',
      'stub by datagram': 'ECONNREFUSED',
    });
    // In tier C also Unix sockets, which end in the jail, and the lists of interfaces.
    const families = tier === 'c' ? '1 2 10 16' : '2 10';
    expect(answers).toMatchObject({ 'host at 127.0.0.1': 'ECONNREFUSED', families });
    for (const kind of ['ping', 'ping over IPv6', 'raw', 'raw over IPv6', 'packets'])
      expect(answers[kind], kind).toBe('EPERM');
    for (const way of ['network of the first', 'own network', 'io_uring'])
      expect(answers[way], way).toMatch(/^(EPERM|ENOSYS|EACCES|ENOENT)$/);
    expect(world.lookedUp).toEqual([]);
    expect(inside.execution?.isolation).toMatchObject({ network: 'listed hosts', interfaces: 'lo' });

    const outside = await tryOutside(PROGRAM, { ...host, names: ['localhost'] });
    expect(outside).toMatchObject({
      'host at 127.0.0.1': 'reached',
      'host at 127.0.0.1 by datagram': 'heard',
    });
    for (const address of own)
      for (const way of ['', ' at once'])
        expect(outside[`host at ${address}${way}`], address).toBe('reached');
    await expect.poll(() => new Set(callers), PATIENT).toEqual(new Set(['call', 'datagram', 'to all']));
  });
});

test.each(['c', 'b'])(
  'a run in tier %s gets to the host by no program that makes its own connections',
  async (tier) => {
    const tools = Object.entries(TOOLS).filter(([name]) => existsSync(`/usr/bin/${name}`));
    expect(tools.map(([name]) => name)).toEqual(expect.arrayContaining(['bash', 'curl', 'git', 'ssh']));
    const callers: string[] = [];
    const lines = await Promise.all(
      tools.map(
        async ([name, line]) => `export PORT=${await portOf(name, callers)}; ( ${line} ) < /dev/null; true`,
      ),
    );
    const line = `unset \${!HTTP*} \${!http*} \${!all*} \${!ALL*}; ${lines.join('\n')}; echo through`;
    const world = await openEgressWorld({ entries: ['ok.test'] });
    const end = await world.run({ command: '/bin/bash', args: ['-c', line], tier });
    expect(end.output?.stdout, end.message).toMatch(/through\n$/);
    expect(callers).toEqual([]);

    await promisify(execFile)('/bin/bash', ['-c', line]);
    await expect.poll(() => new Set(callers), PATIENT).toEqual(new Set(tools.map(([name]) => name)));
  },
);

/** A port of the host that notes who called, and hangs up. */
async function portOf(name: string, callers: string[]): Promise<number> {
  const server = createServer((socket) => {
    callers.push(name);
    socket.on('error', () => undefined).end('go away\r\n');
  }).listen(0, HOME);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}
