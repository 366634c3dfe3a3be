import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type EgressWorld, openEgressWorld } from '../fixtures/egress/index.ts';
import { askInside, connectTo, PATIENT, PYTHON, tryInside } from '../fixtures/egress/inside.ts';
import { sample } from '../volume/volume.ts';

const HOME = '127.0.0.1';

/** Repeats what it hears, and knows who has spoken and who is still there. */
async function startEcho() {
  const spoken = new Set<object>();
  const open = new Set<object>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    socket.on('data', (bytes) => {
      spoken.add(socket);
      socket.write(bytes);
    });
    socket.on('end', () => socket.end());
  }).listen(0, HOME);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, spoken, open };
}

type Change = (world: EgressWorld, port: number) => void;

function writeConfig({ stateDir }: EgressWorld, text: string): void {
  const path = join(stateDir, 'palisade.toml');
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function listing(...entries: readonly string[]): string {
  return `[process]\negress_hosts = ${JSON.stringify(entries)}\n`;
}

/** What an operator does while a run holds tunnels, to one host alone. */
const OF_ONE: Readonly<Record<string, Change>> = {
  'its entry is taken off the list': (world, port) =>
    writeConfig(world, listing(`kept.test:${port}`, `${HOME}:${port}`)),
  'a denying entry is put on the list': (world, port) =>
    writeConfig(world, listing(`kept.test:${port}`, `gone.test:${port}`, `${HOME}:${port}`, '!gone.test')),
  'its entry is narrowed to another port': (world, port) =>
    writeConfig(world, listing(`kept.test:${port}`, 'gone.test:9', `${HOME}:${port}`)),
};

/** The same to all that it may reach. */
const OF_ALL: Readonly<Record<string, Change>> = {
  'the list is emptied': (world) => writeConfig(world, listing()),
  'the list is broken': (world) => writeConfig(world, '[process]\negress_hosts = ["*"]\n'),
  'the file is no TOML any more': (world) => writeConfig(world, 'egress_hosts = ['),
  'the file is gone': ({ stateDir }) => rmSync(join(stateDir, 'palisade.toml')),
  'the entry of the address is taken off the list': (world, port) =>
    writeConfig(world, listing(`kept.test:${port}`, `gone.test:${port}`)),
  'a policy forbids the call': ({ stateDir }) => {
    const text =
      '@id("no")\nforbid (principal, action, resource);\n@id("all")\npermit (principal, action, resource);\n';
    writeFileSync(join(stateDir, 'policies/all.cedar'), text);
  },
  'the directory of policies is another one that forbids it': ({ stateDir }) => {
    mkdirSync(join(stateDir, 'others'), { mode: 0o700 });
    writeFileSync(join(stateDir, 'others/no.cedar'), '@id("no")\nforbid (principal, action, resource);\n');
    renameSync(join(stateDir, 'policies'), join(stateDir, 'former'));
    renameSync(join(stateDir, 'others'), join(stateDir, 'policies'));
  },
};

async function openWorld(port: number) {
  return openEgressWorld({
    entries: [`kept.test:${port}`, `gone.test:${port}`, `${HOME}:${port}`],
    names: { 'kept.test': [HOME], 'gone.test': [HOME] },
  });
}

/** Holds tunnels to two hosts, through the proxy and through doors, while something changes. */
async function holdDuring(change: Change, cut: number) {
  const { port, spoken } = await startEcho();
  const world = await openWorld(port);
  const hosts = ['kept', 'gone'];
  const tunnels = hosts.flatMap((name) => [
    [name, { proxy: `${name}.test:${port}` }],
    [`${name} through a door`, { door: [`${name}.test`, port] }],
  ]);
  const later = hosts.map((name) => [`new to ${name}`, { send: connectTo(`${name}.test:${port}`) }]);
  const reported = { tunnels: Object.fromEntries(tunnels), cut, later: Object.fromEntries(later) };
  const trying = tryInside(world, 'holds-tunnels.py', reported, { limits: { wall_ms: 60_000 } });
  await Promise.race([trying, expect.poll(() => spoken.size, PATIENT).toBe(4)]);
  change(world, port);
  return trying;
}

/** What came of each change; each has a gateway of its own, so that they wait at the same time. */
async function holdDuringEach(changes: Readonly<Record<string, Change>>, cut: number) {
  const each = sample(Object.entries(changes), 2).map(
    async ([name, change]) => [name, await holdDuring(change, cut)] as const,
  );
  return Promise.all(each);
}

describe('a run that holds a tunnel to a host', () => {
  test('loses it, and no other, when the list no longer has the host', async () => {
    for (const [change, { answers, egress }] of await holdDuringEach(OF_ONE, 2)) {
      expect(answers, change).toEqual({
        ...{ 'gone at first': 'hello', 'gone through a door at first': 'hello' },
        ...{ 'kept at first': 'hello', 'kept through a door at first': 'hello' },
        ...{ gone: 'cut', 'gone through a door': 'cut', 'new to gone': '403' },
        ...{ kept: 'still here', 'kept through a door': 'still here', 'new to kept': '200' },
      });
      const cuts = egress.decisions.filter(({ cut }) => cut !== null).map(({ host }) => host);
      expect([egress.cut, cuts], change).toEqual([2, ['gone.test', 'gone.test']]);
    }
  });

  test('loses all that it holds when nothing is allowed any more, or nobody can tell what is', async () => {
    for (const [change, { answers, egress }] of await holdDuringEach(OF_ALL, 4)) {
      expect(answers, change).toMatchObject({
        ...{ kept: 'cut', 'kept through a door': 'cut', 'new to kept': '403' },
        ...{ gone: 'cut', 'gone through a door': 'cut', 'new to gone': '403' },
      });
      expect(egress.cut, change).toBe(4);
    }
  });
});

describe('a run that begins', () => {
  test('reaches nothing that was revoked before', async () => {
    const { port, spoken } = await startEcho();
    const world = await openWorld(port);
    const ask = (host: string) => ({ send: connectTo(`${host}:${port}`), inside: 'hello\r\n\r\n' });
    const messages = { kept: ask('kept.test'), gone: ask('gone.test') };
    const before = await askInside(world, messages);
    expect([before.egress.denied, spoken.size]).toEqual([0, 2]);
    writeConfig(world, listing(`kept.test:${port}`, `${HOME}:${port}`));
    const { egress } = await askInside(world, messages);
    expect(egress.decisions.map(({ host, verdict }) => [host, verdict])).toEqual([
      ['kept.test', 'allow'],
      ['gone.test', 'deny'],
    ]);
    expect(spoken.size).toBe(3);
  });
});

describe('a run that ends', () => {
  test.each(['by itself', 'cancelled'])(
    '%s leaves no tunnel behind, whatever it left running',
    async (how) => {
      const { port, spoken, open } = await startEcho();
      const world = await openWorld(port);
      const abort = new AbortController();
      const program = `import socket, time; ends = [socket.create_connection(('${HOME}', ${port})) for _ in range(20)]; [end.sendall(b'hello') for end in ends]; time.sleep(600)`;
      const line = `(setsid ${PYTHON} -c "${program}" &) ; until [ -e go-on ]; do sleep 0.05; done`;
      const limits = { wall_ms: 60_000 };
      const running = world.run({ command: '/bin/sh', args: ['-s'], stdin: line, limits }, abort.signal);
      await expect.poll(() => spoken.size, PATIENT).toBe(20);
      if (how === 'by itself') writeFileSync(join(world.workspace, 'go-on'), '');
      if (how === 'cancelled') abort.abort();
      await running;
      await expect.poll(() => open.size, PATIENT).toBe(0);
    },
  );
});
