import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type EgressWorld, openEgressWorld } from '../fixtures/egress/index.ts';
import { connectTo, tryInside } from '../fixtures/egress/inside.ts';

const HOME = '127.0.0.1';

/** Repeats what it hears, and counts who has spoken. */
async function startEcho() {
  const spoken = new Set<object>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      spoken.add(socket);
      socket.write(bytes);
    });
    socket.on('end', () => socket.end());
  }).listen(0, HOME);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, spoken };
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
    writeConfig(
      world,
      listing(`*.test:${port}`, `${HOME}:${port}`, '!gone.test').replace('*.test', 'kept.test'),
    ),
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

/** Holds tunnels to two hosts, through the proxy and through doors, while something changes. */
async function holdDuring(change: Change, cut: number) {
  const { port, spoken } = await startEcho();
  const world = await openEgressWorld({
    entries: [`kept.test:${port}`, `gone.test:${port}`, `${HOME}:${port}`],
    names: { 'kept.test': [HOME], 'gone.test': [HOME] },
  });
  const tunnels = Object.fromEntries(
    ['kept', 'gone'].flatMap((name) => [
      [name, { proxy: `${name}.test:${port}` }],
      [`${name} through a door`, { door: [`${name}.test`, port] }],
    ]),
  );
  const later = Object.fromEntries(
    ['kept', 'gone'].map((name) => [`new to ${name}`, { send: connectTo(`${name}.test:${port}`) }]),
  );
  const trying = tryInside(
    world,
    'holds-tunnels.py',
    { tunnels, cut, later },
    { limits: { wall_ms: 60_000 } },
  );
  await Promise.race([trying, expect.poll(() => spoken.size, { timeout: 30_000 }).toBe(4)]);
  change(world, port);
  return trying;
}

describe('a run that holds a tunnel to a host', () => {
  test.each(Object.entries(OF_ONE))('loses it, and no other, when %s', async (_, change) => {
    const { answers, egress } = await holdDuring(change, 2);
    expect(answers).toMatchObject({ 'gone at first': 'hello', 'gone through a door at first': 'hello' });
    expect(answers).toMatchObject({ gone: 'cut', 'gone through a door': 'cut', 'new to gone': '403' });
    expect(answers).toMatchObject({
      kept: 'still here',
      'kept through a door': 'still here',
      'new to kept': '200',
    });
    expect(egress.cut).toBe(2);
    expect(egress.decisions.filter(({ cut }) => cut !== null).map(({ host }) => host)).toEqual([
      'gone.test',
      'gone.test',
    ]);
  });

  test.each(Object.entries(OF_ALL))('loses all that it holds when %s', async (_, change) => {
    const { answers, egress } = await holdDuring(change, 4);
    for (const name of ['kept', 'gone', 'kept through a door', 'gone through a door']) {
      expect([answers[`${name} at first`], answers[name]], name).toEqual(['hello', 'cut']);
    }
    expect(answers).toMatchObject({ 'new to kept': '403', 'new to gone': '403' });
    expect(egress.cut).toBe(4);
  });
});
