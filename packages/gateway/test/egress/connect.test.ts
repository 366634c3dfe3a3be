import { connect as connectTcp, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectTls } from '../../src/egress/connect.ts';
import { identityOf, startSecure, TARGETS } from './proxy/tls-world.ts';
import { eventually, startTarget } from './proxy/world.ts';
import { hostOf } from './sample.ts';

function dialTo(port: number): Socket {
  const socket = connectTcp({ port, host: '127.0.0.1' });
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Speaks TLS to a port that should be this host. */
function secure(port: number, host: string, terms: { signal?: AbortSignal; withinMs?: number } = {}) {
  const { signal = new AbortController().signal, withinMs = 10_000 } = terms;
  const socket = dialTo(port);
  const secured = connectTls(socket, hostOf(host), { withinMs, signal, trust: TARGETS.certificatePem });
  return { socket, secured };
}

describe('connectTls()', () => {
  it.each(['a.test', '127.0.0.1'])('gives a channel to a target that has proved to be %s', async (host) => {
    const target = await startSecure(identityOf(host), (socket) => socket.end('hello'));
    const secured = await secure(target.port, host).secured;
    if (!secured.ok) throw new Error(secured.problem.why);
    expect(secured.value).toMatchObject({ authorized: true, alpnProtocol: false });
    secured.value.destroy();
  });

  it.each([
    ['another name', 'a.test', 'b.test'],
    ['an address', 'a.test', '127.0.0.1'],
    ['a name', '127.0.0.1', 'a.test'],
    ['another address', '127.0.0.1', '127.0.0.2'],
  ])(
    'gives none to a target that has proved to be %s, and closes the connection',
    async (_what, host, is) => {
      const target = await startSecure(identityOf(is), () => {});
      const { secured, socket } = secure(target.port, host);
      const wrong = 'its certificate is for another host (ERR_TLS_CERT_ALTNAME_INVALID)';
      expect(await secured).toEqual({
        ok: false,
        problem: {
          cause: 'unreachable',
          why: `Cannot trust target "${host}": ${wrong}, expected a certificate for this host`,
        },
      });
      await eventually(() => socket.destroyed);
    },
  );

  it('does not wait longer than it may', async () => {
    const target = await startTarget(() => {});
    const { secured, socket } = secure(target.port, 'a.test', { withinMs: 100 });
    expect(await secured).toMatchObject({ ok: false, problem: { cause: 'timeout' } });
    await eventually(() => socket.destroyed);
  });

  it.each([true, false])('stops when it is not wanted any more; from the start: %s', async (isEarly) => {
    const target = await startTarget(() => {});
    const stop = new AbortController();
    if (isEarly) stop.abort();
    const { secured, socket } = secure(target.port, 'a.test', { signal: stop.signal });
    await eventually(() => isEarly || target.seen.some((text) => text !== ''));
    stop.abort();
    expect(await secured).toMatchObject({
      ok: false,
      problem: { cause: 'unreachable', why: expect.stringContaining('the call has ended') },
    });
    await eventually(() => socket.destroyed);
  });

  it('leaves an error of the channel to nobody', async () => {
    const target = await startSecure(identityOf('a.test'), () => {});
    const secured = await secure(target.port, 'a.test').secured;
    if (!secured.ok) throw new Error(secured.problem.why);
    const closed = new Promise((resolve) => secured.value.once('close', resolve));
    secured.value.destroy(new Error('broken'));
    expect(await closed).toBe(true);
  });
});
