/** Authorities and certificates for tests, and connections that trust them or do not. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import {
  type AuthorityTerms,
  type CertificateAuthority,
  type Leaf,
  newAuthority,
} from '../../../src/egress/tls/certificate.ts';
import { hostOf } from '../sample.ts';

const HOUR_MS = 3_600_000;

/** An authority that is valid now. */
export function authorityOf(terms: Partial<AuthorityTerms>): CertificateAuthority {
  return newAuthority({
    nowMs: Date.now(),
    name: 'Authority of a test',
    serial: () => randomBytes(16),
    lifeMs: HOUR_MS,
    ...terms,
  });
}

/** A name of so many characters. */
export function nameOf(chars: number): string {
  return `${'a'.repeat(31)}.`.repeat(8).slice(0, chars).replace(/\.$/, 'a');
}

/** Writes files into a folder that is gone after the test, and gives their paths. */
export function writeFiles<Name extends string>(files: Readonly<Record<Name, string>>): Record<Name, string> {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const paths = Object.entries<string>(files).map(([name, text]) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return [name, path];
  });
  return Object.fromEntries(paths) as Record<Name, string>;
}

/** A TLS server on loopback that says "hello" to everybody. */
export async function startTls(options: TlsOptions, address = '127.0.0.1'): Promise<number> {
  const server = createServer(options, (socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello');
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

export function serve({ keyPem, certificatePem }: Leaf): TlsOptions {
  return { key: keyPem, cert: certificatePem };
}

type Visit = { readonly port: number; readonly host: string; readonly ca?: string };

/** What a client of Node finds that wants this host and trusts this authority: "trusted", or what is wrong. */
export function visit({ port, host, ca }: Visit): Promise<string> {
  const isAddress = hostOf(host).kind === 'address';
  const target = isAddress ? { host } : { host: '127.0.0.1', servername: host };
  return new Promise((resolve) => {
    const socket = connect({ ...target, port, ...(ca === undefined ? {} : { ca }) });
    socket.once('secureConnect', () => {
      resolve(socket.authorized ? 'trusted' : String(socket.authorizationError));
      socket.destroy();
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(`${error.code}: ${error.message}`));
  });
}
