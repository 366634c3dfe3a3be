import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getAt, getFrom } from '../fixtures/egress/inside.ts';
import { OWN_FOUR, OWN_SIX } from '../fixtures/egress/own-addresses.ts';

const HOME = '127.0.0.1';
const OWN = [...OWN_FOUR, ...OWN_SIX.map((address) => `[${address}]`)];
/** Every way to write the own host; programs read all of them as addresses of it. */
const HERE = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.0.2',
    '127.255.255.255',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '017700000001',
  ],
  ...[
    '0177.0.0.1',
    '0.0.0.0',
    '0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:0:0:1]',
  ],
  ...[
    '[64:ff9b::127.0.0.1]',
    '[2002:7f00:1::]',
    'localhost',
    'localhost.',
    'LOCALHOST',
    'x.localhost',
    'ip6-localhost',
  ],
  ...['localhost.localdomain', '127.0.0.1.', ...OWN],
];

describe.each(['c', 'b'])('a run in tier %s that looks for services of the host', (tier) => {
  test('reaches none that is not listed, by no spelling, neither through its proxy nor past it', async () => {
    // One stands for whatever listens there: a database, another tool, the gateway itself.
    const [listed, hidden] = [await startServer(), await startServer(undefined, '0.0.0.0')];
    const world = await openEgressWorld({
      entries: [`${HOME}:${listed.port}`, `ok.test:${listed.port}`, `ok.test:${hidden.port}`],
      names: Object.fromEntries(['ok.test', 'localhost', 'x.localhost'].map((name) => [name, [HOME]])),
    });
    const ways = (host: string, port: number) => ({
      [`page at ${host}`]: { send: getFrom(`http://${host}:${port}/`) },
      [`tunnel to ${host}`]: { send: connectTo(`${host}:${port}`) },
    });
    const direct = HERE.filter((host) => /^[\d.]+$/.test(host)).map((host) => [
      `straight to ${host}`,
      { send: getAt('x'), to: [host, hidden.port] as const },
    ]);
    const messages = [...HERE, 'ok.test'].map((host) => ways(host, hidden.port));
    const { answers } = await askInside(world, Object.assign({}, ...messages, Object.fromEntries(direct)), {
      tier,
    });
    const wrong = Object.entries(answers).filter(
      ([probe, answer]) => !(probe.startsWith('straight') ? /^E\w+$|^-\d$/ : /^40[03]$/).test(answer),
    );
    expect([wrong, hidden.asked]).toEqual([[], []]);
    expect(new Set(world.lookedUp)).toEqual(new Set(['ok.test']));

    const control = await askInside(world, ways(HOME, listed.port), { tier });
    expect([Object.values(control.answers), listed.asked.length]).toEqual([['200', '200'], 1]);
  });
});
