import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TlsOptions } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatHost } from '../../../src/egress/authority.ts';
import { identityOf, newTestAuthority, startOpened, TARGETS } from './tls-world.ts';
import { NAME, startTarget, statusOf } from './world.ts';

const DAY_MS = 86_400_000;
const STRANGER = newTestAuthority('stranger');
const EXPIRED = newTestAuthority('expired', { nowMs: Date.now() - DAY_MS });
const FUTURE = newTestAuthority('future', { nowMs: Date.now() + DAY_MS });
const TRUSTED = [TARGETS, EXPIRED, FUTURE].map(({ certificatePem }) => certificatePem);

/** A certificate that its own key signed. */
function signedByItself(): TlsOptions {
  const folder = mkdtempSync(join(tmpdir(), 'opened-tunnels-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const subject = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`];
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

const SECRET = {
  ...{ name: 'key', placeholder: 'PALISADE_SECRET_KEY', value: 'sk-live-0123456789' },
  isFor: (host: Parameters<typeof formatHost>[0]) => formatHost(host) === NAME,
};
/** As servers were twenty years ago. */
const OLD: TlsOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' };
const OPTIONS = { trust: TRUSTED, secrets: [SECRET] };

describe('the target of an opened tunnel', () => {
  it('that proves to be the host is spoken to', async () => {
    const { ask, target } = await startOpened({ options: OPTIONS });
    expect(statusOf(await ask('GET /v1/', 'X-A: PALISADE_SECRET_KEY'))).toBe(200);
    expect(target.seen[0]).toContain('X-A: sk-live-0123456789');
  });

  it.each([
    ['signed its certificate itself', signedByItself, 'its certificate is signed by itself'],
    [
      'has one of a stranger',
      () => identityOf(NAME, STRANGER),
      'its certificate is of an authority that is not trusted',
    ],
    ['has one that has expired', () => identityOf(NAME, EXPIRED), 'its certificate has expired'],
    ['has one that is not valid yet', () => identityOf(NAME, FUTURE), 'its certificate is not valid yet'],
    ['has one for another name', () => identityOf('other.test'), 'its certificate is for another host'],
    ['has one for a name below', () => identityOf(`a.${NAME}`), 'its certificate is for another host'],
    ['has one for its address', () => identityOf('127.0.0.1'), 'its certificate is for another host'],
    [
      'speaks HTTP/2 alone',
      () => ({ ...identityOf(NAME), ALPNProtocols: ['h2'] }),
      'it does not speak HTTP/1.1',
    ],
    ['speaks an old version alone', () => ({ ...identityOf(NAME), ...OLD }), 'its handshake failed'],
  ])('that %s hears nothing, and the client is told why', async (_what, identity, is) => {
    const { ask, target, proxy, decisions } = await startOpened({ target: identity(), options: OPTIONS });
    const answer = await ask('GET /v1/', 'X-A: PALISADE_SECRET_KEY');
    expect(statusOf(answer)).toBe(502);
    expect(answer.body).toContain(`Cannot trust target "${NAME}": ${is}`);
    expect(target.raws).toHaveLength(1);
    expect(target.seen.join('')).toBe('');
    expect(decisions()).toMatchObject([
      { method: 'GET', verdict: 'allow', address: '127.0.0.1', intercepted: true, secrets: [] },
    ]);
    expect(proxy.facts()).toMatchObject({ cut: 1, bytesOut: 0, faults: 0 });
    expect(proxy.facts().decisions[0]?.cut).toContain(is);
    expect(JSON.stringify([answer, proxy.facts()])).not.toContain('sk-live');
  });

  it.each([
    [
      'speaks in the open',
      (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'),
      502,
      'does not speak TLS',
    ],
    ['hangs up', (socket: Socket) => socket.end(), 502, 'broke off the handshake'],
    [
      'breaks off',
      (socket: Socket) => socket.once('data', () => socket.resetAndDestroy()),
      502,
      'broke off the handshake',
    ],
    ['says nothing', () => {}, 504, 'its handshake took more than 300 ms'],
  ])('that %s is no target', async (_what, act, status, why) => {
    const plain = await startTarget((socket) => void act(socket));
    const place = { ...plain, sockets: [], raws: plain.sockets };
    const { ask, proxy } = await startOpened({ place, limits: status === 504 ? { connectMs: 300 } : {} });
    const answer = await ask('GET /v1/', 'X-A: b');
    expect(statusOf(answer)).toBe(status);
    expect(answer.body).toContain(why);
    expect(plain.seen.join('')).not.toContain('X-A');
    expect(proxy.facts()).toMatchObject({ cut: 1, faults: 0 });
  });

  it('is verified whatever the environment says', async () => {
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    onTestFinished(() => {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    });
    const { ask } = await startOpened({ target: identityOf(NAME, STRANGER) });
    expect(statusOf(await ask('GET /v1/'))).toBe(502);
  });

  it('of the authority that Node trusts is all that is trusted without another', async () => {
    const { ask } = await startOpened({ options: { trust: undefined } });
    const answer = await ask('GET /v1/');
    expect(statusOf(answer)).toBe(502);
    expect(answer.body).toContain('an authority that is not trusted');
  });
});
