import type { RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getAt, getFrom } from '../fixtures/egress/inside.ts';
import { OWN_FOUR } from '../fixtures/egress/own-addresses.ts';

const HOME = '127.0.0.1';
const OTHER_HOME = '127.0.0.2';

/** Where no name on a list leads by being on it. */
const SPECIAL: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1', '127.0.0.2', '127.255.255.254', '::1', '0.0.0.0', '::'],
  'loopback inside IPv6': [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ],
  'private networks': [
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.1',
    '192.168.0.1',
    '100.64.0.1',
    'fc00::1',
    'fd12::1',
  ],
  'the link': ['169.254.0.1', 'fe80::1', '224.0.0.1', 'ff02::1', '255.255.255.255'],
  'metadata services': [
    '169.254.169.254',
    '168.63.129.16',
    '100.100.100.200',
    'fd00:ec2::254',
    '169.254.170.2',
  ],
  'metadata inside IPv6': ['::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::'],
  'nobody and tests': ['0.1.2.3', '192.0.2.1', '198.18.0.1', '203.0.113.1', '240.0.0.1', '2001:db8::1'],
  'what is no address': ['localhost', '127.1', '0x7f.1', '2130706433', '127.0.0.1:80', 'fe80::1%eth0', ''],
};

/** Says at which address it was reached. */
const sayWhere: RequestListener = ({ socket }, response) => response.end(`at ${socket.localAddress}\n`);
/** What a client gets that was let in and then sent away without a word. */
const HUNG_UP = /^(closed|ECONNRESET)$/;

describe('a run whose allowed name leads to a special address', () => {
  const cases = Object.entries({ ...SPECIAL, 'the own network': OWN_FOUR }).flatMap(([kind, addresses]) =>
    addresses.map(
      (address, index) => [`n${index}.${kind.toLowerCase().replaceAll(' ', '-')}.test`, address] as const,
    ),
  );

  test('reaches none of them by the entry of the name, through the proxy, a tunnel or a door', async () => {
    // It listens on every address of this machine, so that a dial would be heard.
    const { port, asked } = await startServer(sayWhere, '0.0.0.0');
    const world = await openEgressWorld({
      entries: cases.map(([name]) => `${name}:${port}`),
      names: Object.fromEntries(cases.map(([name, address]) => [name, [address]])),
    });
    const messages = Object.fromEntries(
      cases.flatMap(([name, address]) => [
        [`page of ${address}`, { send: getFrom(`http://${name}:${port}/`) }],
        [`tunnel to ${address}`, { send: connectTo(`${name}:${port}`) }],
        [`door of ${address}`, { send: getAt(name), to: [name, port] as const }],
      ]),
    );
    const { answers, egress } = await askInside(world, messages);
    expect(Object.keys(answers)).toHaveLength(cases.length * 3);
    for (const [probe, answer] of Object.entries(answers))
      expect(answer, probe).toMatch(probe.startsWith('door') ? HUNG_UP : /^(403|502)$/);
    expect(
      egress.decisions.filter(({ address, verdict }) => address !== null || verdict === 'allow'),
    ).toEqual([]);
    expect(egress).toMatchObject({ denied: cases.length * 3, bytesOut: 0 });
    expect(asked).toEqual([]);
  });

  test('reaches those of this machine that entries name, and those alone', async () => {
    const { port, asked } = await startServer(sayWhere, '0.0.0.0');
    const named = [HOME, ...OWN_FOUR.slice(0, 1)];
    const world = await openEgressWorld({
      entries: [...cases.map(([name]) => `${name}:${port}`), ...named.map((address) => `${address}:${port}`)],
      names: Object.fromEntries(cases.map(([name, address]) => [name, [address]])),
    });
    const homes = cases.filter(([, address]) => [...named, OTHER_HOME].includes(address));
    const messages = homes.map(([name, address]) => [address, { send: getFrom(`http://${name}:${port}/`) }]);
    const { answers, egress } = await askInside(world, Object.fromEntries(messages));
    expect(answers).toEqual({
      ...Object.fromEntries(named.map((address) => [address, '200'])),
      [OTHER_HOME]: '403',
    });
    expect(asked).toHaveLength(named.length);
    expect(egress.decisions.flatMap(({ address }) => address ?? []).sort()).toEqual(named.toSorted());
  });

  test('reaches no metadata service through a range around it', async () => {
    const { port } = await startServer();
    const world = await openEgressWorld({
      entries: ['meta.test', 'home.test', '169.254.0.0/16', HOME].map((host) => `${host}:${port}`),
      names: { 'meta.test': ['169.254.169.254'], 'home.test': [HOME] },
    });
    const { answers, egress } = await askInside(world, {
      'by name': { send: connectTo(`meta.test:${port}`) },
      'by address': { send: connectTo(`169.254.169.254:${port}`) },
      'by number': { send: connectTo(`2852039166:${port}`) },
      control: { send: connectTo(`home.test:${port}`) },
    });
    expect(answers).toEqual({ 'by name': '403', 'by address': '403', 'by number': '403', control: '200' });
    expect(egress.decisions.map(({ address }) => address)).toEqual([null, null, null, HOME]);
  });
});

describe('a run whose name servers lie', () => {
  test('is brought to the address that was checked: a name is looked up once for each request', async () => {
    const { port, asked } = await startServer(sayWhere, '0.0.0.0');
    const answers = [HOME, OTHER_HOME, HOME, '169.254.169.254', HOME];
    let lookups = 0;
    const world = await openEgressWorld({
      entries: [`flip.test:${port}`, `${HOME}:${port}`],
      names: {
        get 'flip.test'() {
          return [answers[lookups++ % answers.length] ?? ''];
        },
      },
    });
    const messages = answers.map((_, index) => [
      `${index}`,
      { send: getFrom(`http://flip.test:${port}/${index}`) },
    ]);
    const tried = await askInside(world, Object.fromEntries(messages));
    expect(Object.values(tried.answers)).toEqual(['200', '403', '200', '403', '200']);
    expect([lookups, asked.map(({ url }) => url)]).toEqual([answers.length, ['/0', '/2', '/4']]);
    expect(tried.egress.decisions.map(({ address }) => address)).toEqual([HOME, null, HOME, null, HOME]);
  });

  test.each([
    { of: 'a good and a bad address', found: [HOME, OTHER_HOME] },
    { of: 'a bad and a good address', found: [OTHER_HOME, HOME] },
    { of: 'a good address and a metadata service', found: [HOME, '169.254.169.254'] },
    { of: 'a good address and its bad twin in IPv6', found: [HOME, '::ffff:127.0.0.2'] },
    { of: 'a hundred addresses', found: Array.from({ length: 100 }, (_, index) => `127.0.0.${index + 1}`) },
    { of: 'no address', found: [] },
  ])('reaches nobody when a name has $of', async ({ found }) => {
    const { port, asked } = await startServer(sayWhere, '0.0.0.0');
    const world = await openEgressWorld({
      entries: [`many.test:${port}`, `one.test:${port}`, `${HOME}:${port}`],
      names: { 'many.test': found, 'one.test': [HOME, HOME] },
    });
    const { answers } = await askInside(world, {
      page: { send: getFrom(`http://many.test:${port}/`) },
      tunnel: { send: connectTo(`many.test:${port}`) },
      control: { send: getFrom(`http://one.test:${port}/`) },
    });
    expect(answers).toEqual({ page: expect.stringMatching(/403|502/), tunnel: answers.page, control: '200' });
    expect(asked).toHaveLength(1);
  });

  test('does not get to a denied place by another name for it', async () => {
    const { port, asked } = await startServer(sayWhere, '0.0.0.0');
    const world = await openEgressWorld({
      entries: [
        ...['alias.test', 'plain.test', HOME, OTHER_HOME].map((host) => `${host}:${port}`),
        ...[`!${OTHER_HOME}`, '!denied.test'],
      ],
      // Both names of the second address lead there; one of them is denied, and so is the address.
      names: { 'alias.test': [OTHER_HOME], 'denied.test': [OTHER_HOME], 'plain.test': [HOME] },
    });
    const { answers } = await askInside(world, {
      alias: { send: getFrom(`http://alias.test:${port}/`) },
      address: { send: getFrom(`http://${OTHER_HOME}:${port}/`) },
      denied: { send: getFrom(`http://denied.test:${port}/`) },
      plain: { send: getFrom(`http://plain.test:${port}/`) },
    });
    expect(answers).toEqual({ alias: '403', address: '403', denied: '403', plain: '200' });
    expect([asked.length, world.lookedUp]).toEqual([1, ['alias.test', 'plain.test']]);
  });
});
