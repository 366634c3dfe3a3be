import type { RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';

const HOME = '127.0.0.1';

/** Sends whoever asks on to where the query says. */
const sendOn: RequestListener = ({ url = '' }, response) => {
  const to = new URL(url, 'http://here').searchParams.get('to');
  if (to === null) response.end('arrived\n');
  else response.writeHead(302, { location: to }).end();
};

describe('a run that follows the redirect of an allowed host', () => {
  test.each(['c', 'b'])(
    'is decided on again in tier %s: it arrives where the list leads and nowhere else',
    async (tier) => {
      const [first, second, hidden] = [
        await startServer(sendOn),
        await startServer(sendOn),
        await startServer(sendOn),
      ];
      const world = await openEgressWorld({
        entries: [
          ...[`first.test:${first.port}`, `second.test:${second.port}`],
          ...[first.port, second.port].map((port) => `${HOME}:${port}`),
        ],
        names: Object.fromEntries(['first.test', 'second.test', 'denied.test'].map((name) => [name, [HOME]])),
      });
      const targets = {
        allowed: `http://second.test:${second.port}/`,
        'allowed by two hops': `http://second.test:${second.port}/?to=${encodeURIComponent(`http://first.test:${first.port}/`)}`,
        'another name': `http://denied.test:${first.port}/`,
        'another port': `http://first.test:${hidden.port}/`,
        'a service of the host': `http://127.0.0.1:${hidden.port}/`,
        'the same in other words': `http://0x7f.1:${hidden.port}/`,
        metadata: 'http://169.254.169.254/latest/meta-data/',
        'another scheme': `https://denied.test:${hidden.port}/`,
        'denied behind allowed': `http://second.test:${second.port}/?to=${encodeURIComponent(`http://denied.test:${first.port}/`)}`,
      };
      const lines = Object.entries(targets).map(([name, to]) => {
        const url = `http://first.test:${first.port}/?to=${encodeURIComponent(to)}`;
        // Without a look at the exceptions: what is at 127.0.0.1 is asked of the proxy, too.
        return `echo "${name}: $(curl -sL --noproxy '' --max-redirs 5 -w ' %{http_code}' '${url}' | tail -c 4)"`;
      });
      const { output } = await world.shell(lines.join('\n'), { tier });
      const ends = (output?.stdout ?? '').trim().split('\n');
      expect(Object.fromEntries(ends.map((line) => line.split(':  ')))).toEqual({
        ...{ allowed: '200', 'allowed by two hops': '200', 'another name': '403', 'another port': '403' },
        ...{ 'a service of the host': '403', 'the same in other words': '403', metadata: '403' },
        // The tunnel was refused, so that there was no answer inside it.
        ...{ 'another scheme': '000', 'denied behind allowed': '403' },
      });
      expect([second.asked.length, hidden.asked.length]).toEqual([3, 0]);
      expect(new Set(world.lookedUp)).toEqual(new Set(['first.test', 'second.test']));
    },
  );
});
