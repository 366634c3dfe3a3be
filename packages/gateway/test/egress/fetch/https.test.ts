import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newAuthority } from '../../../src/egress/tls/certificate.ts';
import { allowing, HELLO, listenOn, NAME, startAnswering, startTarget } from '../proxy/world.ts';
import { hostOf } from '../sample.ts';
import { LOOPBACK, openWorld, redirectTo, textOf, type WorldTerms } from './world.ts';

const DAY_MS = 86_400_000;

function authorityAt(nowMs: number) {
  return newAuthority({ nowMs, name: 'Test', serial: () => randomBytes(16), lifeMs: DAY_MS });
}

const FOR_ANOTHER = 'is for another host (ERR_TLS_CERT_ALTNAME_INVALID)';
const AUTHORITY = authorityAt(Date.now());
const trust = AUTHORITY.certificatePem;

function certificateFor(host: string, authority = AUTHORITY): TlsOptions {
  const { keyPem, certificatePem } = authority.leafFor(hostOf(host));
  return { key: keyPem, cert: certificatePem };
}

/** A certificate that vouches for itself. */
function selfSigned(): TlsOptions {
  const folder = mkdtempSync(join(tmpdir(), 'palisade-fetch-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const subject = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`];
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

/** A site with this certificate and this answer, and a world that allows it. It keeps what it was sent. */
async function openSite(options: TlsOptions, terms: WorldTerms = {}, answer = HELLO) {
  const seen: { name: unknown; protocol: unknown; text: string }[] = [];
  const sockets: TLSSocket[] = [];
  const server = createServer({ ALPNProtocols: ['h2', 'http/1.1'], ...options }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.once('data', (bytes) => {
      const { servername, alpnProtocol } = socket as TLSSocket & { readonly servername: unknown };
      seen.push({ name: servername, protocol: alpnProtocol, text: bytes.toString('latin1') });
      socket.end(answer);
    });
  });
  server.on('tlsClientError', () => {});
  const port = await listenOn(server);
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const world = openWorld({ entries: allowing(NAME, port), answers: LOOPBACK, trust, ...terms });
  return { ...world, seen, port, url: `https://${NAME}:${port}/` };
}

describe('https', () => {
  it('goes to a target that proves to be the host', async () => {
    const { get, seen, url, port } = await openSite(certificateFor(NAME));
    const outcome = await get(`${url}a`, { method: 'POST', body: Buffer.from('b') });
    expect(textOf(outcome)).toBe('hello');
    expect(outcome.hops).toMatchObject([{ url: `${url}a`, address: '127.0.0.1', status: 200 }]);
    expect(seen).toMatchObject([{ name: NAME, protocol: 'http/1.1' }]);
    expect(seen[0]?.text).toMatch(new RegExp(`^POST /a HTTP/1\\.1\r\nHost: ${NAME}:${port}\r\n`));
  });

  it('goes to an address that proves to be that address, and names none', async () => {
    const { get, seen, port } = await openSite(certificateFor('127.0.0.1'));
    expect(textOf(await get(`https://127.0.0.1:${port}/`))).toBe('hello');
    expect(seen).toMatchObject([{ name: false }]);
  });

  it.each([
    ['is for another name', () => certificateFor('other.test'), FOR_ANOTHER],
    ['is for the address of the host', () => certificateFor('127.0.0.1'), FOR_ANOTHER],
    ['is for a name above', () => certificateFor('test'), FOR_ANOTHER],
    ['vouches for itself', selfSigned, 'is signed by itself (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    [
      'is of an unknown authority',
      () => certificateFor(NAME, authorityAt(Date.now())),
      'is of an authority that is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    ],
  ])('sends nothing to a target whose certificate %s', async (_what, certificate, is) => {
    const { get, seen, url } = await openSite(certificate());
    expect(textOf(await get(url))).toBe(
      `unreachable: Cannot trust target "${NAME}": its certificate ${is}, expected a certificate for this host`,
    );
    expect(seen).toEqual([]);
  });

  it('sends nothing to a target whose certificate is of yesterday', async () => {
    const old = authorityAt(Date.now() - 2 * DAY_MS);
    const { get, seen, url } = await openSite(certificateFor(NAME, old), { trust: old.certificatePem });
    expect(textOf(await get(url))).toContain('(CERT_HAS_EXPIRED)');
    expect(seen).toEqual([]);
  });

  it('trusts nobody whom Node does not, unless it is told to', async () => {
    const { get, seen, url } = await openSite(certificateFor(NAME));
    expect((await get(url, {}, { trust: undefined })).ok).toBe(false);
    expect(seen).toEqual([]);
  });

  it('does not give up checking because the environment says so', async () => {
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    onTestFinished(() => {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    });
    const { get, seen, url } = await openSite(certificateFor('other.test'));
    expect(textOf(await get(url))).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(seen).toEqual([]);
  });

  it('does not speak with a target that knows HTTP/2 or old TLS alone', async () => {
    for (const options of [{ ALPNProtocols: ['h2'] }, { maxVersion: 'TLSv1.1' as const }]) {
      const { get, seen, url } = await openSite({ ...certificateFor(NAME), ...options });
      expect(textOf(await get(url))).toMatch(/^unreachable: /);
      expect(seen).toEqual([]);
    }
  });

  it.each([
    ['speaks in the open', (socket: Socket) => socket.write(HELLO)],
    ['says nothing and goes', (socket: Socket) => socket.end()],
    ['breaks off', (socket: Socket) => socket.resetAndDestroy()],
  ])('does not speak with a target that %s', async (_what, answer) => {
    const target = await startTarget((socket) => socket.once('data', () => answer(socket)));
    const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK, trust });
    expect(textOf(await get(`https://${NAME}:${target.port}/`))).toMatch(/^unreachable: /);
    expect(target.seen.join('')).not.toContain('GET');
  });

  it('is not guessed: a request in the open comes to nothing', async () => {
    const { get, url, seen } = await openSite(certificateFor(NAME));
    expect((await get(url.replace('https', 'http'))).ok).toBe(false);
    expect(seen).toEqual([]);
  });

  it('does not wait for a handshake that never ends', async () => {
    const target = await startTarget(() => {});
    const entries = allowing(NAME, target.port);
    const { get } = openWorld({ entries, answers: LOOPBACK, trust, limits: { connectMs: 150 } });
    expect(textOf(await get(`https://${NAME}:${target.port}/`))).toBe(
      `too-slow: Cannot trust target "${NAME}": its handshake took more than 150 ms, expected a certificate for this host`,
    );
  });

  it('is not left for http, even where the list allows both', async () => {
    const plain = await startAnswering(HELLO);
    const { get, url, setList, port } = await openSite(
      certificateFor(NAME),
      {},
      redirectTo(`http://${NAME}:${plain.port}/`),
    );
    setList(...allowing(NAME, port), ...allowing(NAME, plain.port));
    expect(textOf(await get(url))).toMatch(/^denied: Cannot follow redirect .* it is not encrypted/);
    expect(plain.seen).toEqual([]);
    expect(textOf(await get(`http://${NAME}:${plain.port}/`))).toBe('hello');
  });

  it('is decided on as https: an entry for http does not open it', async () => {
    const { get, setList, url, port, seen } = await openSite(certificateFor(NAME));
    setList(`http://${NAME}:${port}`, `127.0.0.1:${port}`);
    expect(textOf(await get(url))).toMatch(/^denied: /);
    setList(`GET https://${NAME}:${port}/a`, `127.0.0.1:${port}`);
    expect(textOf(await get(url))).toMatch(/^denied: /);
    expect(seen).toEqual([]);
    expect(textOf(await get(`${url}a/b`))).toBe('hello');
  });
});
