import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getAt, getFrom, type Message } from '../fixtures/egress/inside.ts';

const HOME = '127.0.0.1';
const LEAK = 'what-the-run-knows';

/** Ways to carry something to another account of a host that many share. */
function leaksTo(port: number): Readonly<Record<string, Message>> {
  const url = `http://shared.test:${port}`;
  const body = `Content-Length: ${LEAK.length}\r\n`;
  const to = ['shared.test', port] as const;
  return {
    'to the account of another': { send: `${getFrom(`${url}/theirs/new`, body, 'POST')}${LEAK}` },
    'into the own account': { send: `${getFrom(`${url}/ours/new`, body, 'POST')}${LEAK}` },
    'by a name of theirs': { send: getFrom(`${url}/theirs/${LEAK}`) },
    'by a way up': { send: getFrom(`${url}/ours/../theirs/${LEAK}`) },
    'by an encoded way up': { send: getFrom(`${url}/ours/%2e%2e/theirs/${LEAK}`) },
    'by an encoded slash': { send: getFrom(`${url}/ours%2f..%2ftheirs/${LEAK}`) },
    'by a backslash': { send: getFrom(`${url}/ours\\..\\theirs/${LEAK}`) },
    'by a longer name': { send: getFrom(`${url}/ours-and-theirs/${LEAK}`) },
    'by other letters': { send: getFrom(`${url}/OURS/${LEAK}`) },
    'by an override of the method': {
      send: getFrom(`${url}/theirs/x`, 'X-HTTP-Method-Override: GET\r\n', 'PUT'),
    },
    'in a tunnel': {
      send: connectTo(`shared.test:${port}`),
      inside: getAt('shared.test', `/theirs/${LEAK}`),
    },
    'through the door': { send: getAt(`shared.test:${port}`, `/theirs/${LEAK}`), to },
    'through the door with a method': {
      send: `${getAt(`shared.test:${port}`, '/ours/new', body).replace('GET', 'POST')}${LEAK}`,
      to,
    },
  };
}

describe('a run that carries something out through an allowed host', () => {
  test('is not stopped by an entry that is a host alone: who is on the list hears all that is said', async () => {
    const { port, asked } = await startServer();
    const world = await openEgressWorld({
      entries: [`shared.test:${port}`, `${HOME}:${port}`],
      names: { 'shared.test': [HOME] },
    });
    const {
      'to the account of another': post,
      'in a tunnel': tunnel,
      'through the door': door,
    } = leaksTo(port);
    const { answers } = await askInside(world, { ...{ post, tunnel, door } } as Record<string, Message>);
    expect(Object.values(answers)).toEqual(['200', '200', '200']);
    expect(asked.filter(({ url, body }) => `${url}${body}`.includes(LEAK))).toHaveLength(3);
  });

  test('is stopped by an entry with a path and a method, however it spells its request', async () => {
    const { port, asked } = await startServer();
    const world = await openEgressWorld({
      entries: [`GET http://shared.test:${port}/ours/`, `${HOME}:${port}`],
      names: { 'shared.test': [HOME] },
    });
    const { answers, egress } = await askInside(world, leaksTo(port));
    for (const [probe, answer] of Object.entries(answers)) expect(answer, probe).toMatch(/^40[03]$/);
    expect([asked, world.lookedUp]).toEqual([[], []]);
    expect(egress).toMatchObject({ bytesOut: 0 });

    const control = await askInside(world, {
      page: { send: getFrom(`http://shared.test:${port}/ours/page`) },
      door: { send: getAt(`shared.test:${port}`, '/ours/page'), to: ['shared.test', port] },
    });
    expect(control.answers).toEqual({ page: '200', door: '200' });
  });
});
