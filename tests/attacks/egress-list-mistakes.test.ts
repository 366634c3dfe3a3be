import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { palisade } from '../fixtures/cli.ts';
import { makeDirectories, openCommandGateway } from '../fixtures/commands/index.ts';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getAt, getFrom } from '../fixtures/egress/inside.ts';
import { sample } from '../volume/volume.ts';

const HOME = '127.0.0.1';

/** What stands behind `egress_hosts = ` and could be taken for "everything". */
const MISTAKES: Readonly<Record<string, string>> = {
  'every host': '["*"]',
  'every host as a text': '"*"',
  'every host with a port': '["*:443"]',
  'every host with a scheme': '["https://*"]',
  'every host below a top-level domain': '["*.com"]',
  'a star in the middle': '["api.*.example.com"]',
  'a star at the end': '["example.*"]',
  'every address': '["0.0.0.0/0"]',
  'every address of IPv6': '["[::]/0"]',
  'half of all addresses': '["128.0.0.0/1"]',
  'a range without its length': '["10.0.0.0/"]',
  'a range with a length that is none': '["10.0.0.0/33"]',
  'an empty entry': '[""]',
  'a blank entry': '[" "]',
  'a number': '[443]',
  'a list in a list': '[["example.com"]]',
  'a table': '{ host = "example.com" }',
  true: 'true',
  false: 'false',
  zero: '0',
  'a text': '"example.com"',
  'the word null': '"null"',
  'a user in front': '["user@example.com"]',
  'a blank inside': '["exa mple.com"]',
  'a port that is none': '["example.com:0"]',
  'a port above all': '["example.com:65536"]',
  'another scheme': '["ftp://example.com"]',
  'a query': '["https://example.com/?a=b"]',
  'a way up': '["https://example.com/a/../b"]',
  'an octal address': '["010.0.0.1"]',
  'one bad entry among good ones': '["example.com", "*"]',
  'a denial that cannot be read': '["example.com", "!evil com"]',
};

describe('a gateway whose allow-list has a mistake', () => {
  test.each(Object.keys(MISTAKES))('does not open with %s', async (mistake) => {
    const opening = openCommandGateway(`[process]\negress_hosts = ${MISTAKES[mistake]}\n`);
    await expect(opening).rejects.toMatchObject({ code: 'config/invalid' });
  });

  test('opens with the same list when it has no mistake', async () => {
    const entries = [
      'example.com',
      '*.example.com:443',
      '!evil.example.com',
      'https://example.com/a/',
      '10.0.0.0/8',
    ];
    const world = await openEgressWorld({ entries });
    expect((await world.shell('echo opened')).output?.stdout).toBe('opened\n');
  });

  const refused = [
    ['refuses', '["*"]', 1],
    ['refuses', '["10.0.0.0/"]', 1],
    ['refuses', '"*"', 1],
    ['refuses', '', 1],
  ] as const;
  test.each([['runs', '["example.com"]', 0] as const, ...sample(refused)])(
    '%s a command of palisade exec with egress_hosts = %s',
    async (_, value, failed) => {
      const { stateDir, workspace } = makeDirectories('');
      onTestFinished(() => rmSync(dirname(stateDir), { recursive: true, force: true }));
      const config = `[process]\nworkspaces = ["${workspace}"]\negress_hosts = ${value}\n`;
      writeFileSync(join(stateDir, 'palisade.toml'), config, { mode: 0o600 });
      const words = ['exec', '--state', stateDir, '--workspace', workspace, '--', 'touch', 'ran'];
      const { status, err } = await palisade(words);
      expect(err).toMatch(failed === 0 ? /^$/ : /config\/invalid/);
      expect([Math.sign(status ?? 1), existsSync(join(workspace, 'ran'))]).toEqual([failed, failed === 0]);
    },
  );
});

describe('a run with an empty allow-list', () => {
  const noList = {
    'an empty list': 'egress_hosts = []',
    'no list': '',
    'a list that only denies': 'egress_hosts = ["!evil.test"]',
  };
  test.each(['c', 'b'])('has no network in tier %s: no proxy, no doors, no way out', async (tier) => {
    const { port, asked } = await startServer();
    for (const [name, line] of Object.entries(noList)) {
      const { run } = await openCommandGateway(`[process]\n${line}\n`);
      const script = `env | grep -ci proxy; curl -s --max-time 5 http://127.0.0.1:${port}/ && echo reached; curl -s --max-time 5 -x http://127.0.0.1:3128 http://127.0.0.1:${port}/ && echo reached; echo through`;
      const { output, execution } = await run({ command: '/bin/sh', args: ['-s'], stdin: script, tier });
      expect(output?.stdout, name).toBe('0\nthrough\n');
      expect(execution?.isolation, name).toMatchObject({ egress: 'strict', network: 'none' });
    }
    expect(asked).toEqual([]);
  });

  test('of its own has none either, although the gateway has one that leads somewhere', async () => {
    const { port, asked } = await startServer();
    const world = await openEgressWorld({ entries: [`${HOME}:${port}`] });
    const line = `curl -s --max-time 5 http://127.0.0.1:${port}/ || echo no`;
    const without = await world.shell(line, { egress_hosts: [] });
    const other = await world.shell(line, { egress_hosts: ['ok.test'] });
    const all = await world.shell(line);
    expect([without, other, all].map(({ output }) => output?.stdout)).toEqual([
      ...['no\n', 'no\n', expect.stringMatching(/^served/)],
    ]);
    expect(without.execution?.isolation).toMatchObject({ network: 'none' });
    expect(asked).toHaveLength(1);
  });
});

describe('a call that names its hosts in an odd way', () => {
  test('is refused, whatever could pass for a list', async () => {
    const world = await openEgressWorld({ entries: ['ok.test'] });
    const odd = [
      ...[null, '*', 'ok.test', {}, 0, true, ['*'], ['*.com'], [''], [null], [['ok.test']], ['10.0.0.0/']],
      ...[
        ['!ok.test'],
        ['0.0.0.0/0'],
        ['ok.test', '*'],
        Array(65).fill('ok.test'),
        [`${'a'.repeat(3000)}.test`],
      ],
    ];
    for (const hosts of odd) {
      const { code, output } = await world.shell('touch ran', { egress_hosts: hosts });
      expect([code, output], JSON.stringify(hosts)).toEqual(['registry/invalid-input', null]);
    }
    expect(await world.shell('touch ran', { egress_hosts: ['ok.test'] })).toMatchObject({ code: 'ok' });
  });

  test('gets no more than the operator allows by naming more', async () => {
    const [listed, hidden] = [await startServer(), await startServer()];
    const world = await openEgressWorld({
      entries: [
        `GET http://ok.test:${listed.port}/open/`,
        `${HOME}:${listed.port}`,
        `*.wild.test:${listed.port}`,
      ],
      names: { 'ok.test': [HOME], 'a.wild.test': [HOME], 'evil.test': [HOME] },
    });
    const wide = [
      ...[
        `ok.test:${listed.port}`,
        `ok.test:${hidden.port}`,
        `evil.test:${listed.port}`,
        `*.wild.test:${hidden.port}`,
      ],
      ...[`127.0.0.0/8:${hidden.port}`, `${HOME}:${hidden.port}`, `${HOME}:${listed.port}`],
    ];
    const url = `http://ok.test:${listed.port}`;
    const { answers } = await askInside(
      world,
      {
        granted: { send: getFrom(`${url}/open/x`) },
        'another method': { send: getFrom(`${url}/open/x`, 'Content-Length: 0\r\n', 'POST') },
        'another path': { send: getFrom(`${url}/closed`) },
        tunnel: {
          send: connectTo(`ok.test:${listed.port}`),
          inside: getAt(`ok.test:${listed.port}`, '/closed'),
        },
        'another port': { send: connectTo(`ok.test:${hidden.port}`) },
        'another host': { send: connectTo(`evil.test:${listed.port}`) },
        'below the wildcard': { send: connectTo(`a.wild.test:${hidden.port}`) },
        'an address': { send: connectTo(`${HOME}:${hidden.port}`) },
        'its door': { send: getAt('x'), to: [HOME, hidden.port] },
      },
      { egress_hosts: wide },
    );
    const { granted, 'its door': door, ...refused } = answers;
    expect([granted, new Set(Object.values(refused))]).toEqual(['200', new Set(['403'])]);
    expect(door).toMatch(/^(closed|ECONNRESET)$/);
    expect([listed.asked.length, hidden.asked.length]).toEqual([1, 0]);
  });
});
