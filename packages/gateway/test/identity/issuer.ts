import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CryptoKey,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import { onTestFinished } from 'vitest';
import type { OauthConfig } from '../../src/config/config.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { Log } from '../../src/core/log.ts';
import { type Authenticated, makeAuthenticator } from '../../src/identity/authenticate.ts';
import type { Reader } from '../../src/store/transaction.ts';
import { NOON } from '../fixture/gateway.ts';

/* An authorization server on loopback, which gives out what a test wants signed. Everything ends with the test. */

export const AUDIENCE = 'https://palisade.example.com';

export type KeyPair = {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
};

export type Header = {
  readonly alg?: string;
  readonly typ?: string | undefined;
  readonly kid?: string | undefined;
};

/** What it serves: path → body, or what is done with a request. */
export type Pages = Map<string, string | ((request: IncomingMessage, response: ServerResponse) => void)>;

export type TestIssuer = {
  readonly url: string;
  readonly pages: Pages;
  /** The paths that were asked for, in order. */
  readonly asked: string[];
  readonly key: KeyPair;
  /** Puts other keys into the key document. */
  readonly serveKeys: (keys: readonly unknown[]) => void;
  /** A good token; claims that are undefined are left out. */
  readonly sign: (claims?: Record<string, unknown>, header?: Header, key?: KeyPair) => Promise<string>;
};

export async function newKey(kid: string, alg = 'ES256'): Promise<KeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** Serves pages on a free port of loopback. */
export async function startPages(
  pages: Pages,
): Promise<{ readonly origin: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const page = pages.get(path);
    if (typeof page === 'function') page(request, response);
    else if (page === undefined) response.writeHead(404).end('{}');
    else response.writeHead(200, { 'content-type': 'application/json' }).end(page);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

export async function startIssuer(alg = 'ES256', path = ''): Promise<TestIssuer> {
  const key = await newKey('key-1', alg);
  const pages: Pages = new Map();
  const { origin, asked } = await startPages(pages);
  const url = `${origin}${path}`;
  const serveKeys = (keys: readonly unknown[]) => pages.set('/jwks', JSON.stringify({ keys }));
  serveKeys([key.publicJwk]);
  const metadata = { issuer: url, jwks_uri: `${origin}/jwks` };
  pages.set(`/.well-known/oauth-authorization-server${path}`, JSON.stringify(metadata));
  const sign: TestIssuer['sign'] = (claims = {}, header = {}, by = key) => {
    const nowS = Math.floor(NOON / 1000);
    const payload = { iss: url, aud: AUDIENCE, sub: 'ada', iat: nowS, exp: nowS + 600, ...claims };
    const whole = { alg: by.alg, typ: 'at+jwt', kid: by.kid, ...header };
    const reported = JSON.parse(JSON.stringify(whole)) as { alg: string };
    return new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload)
      .setProtectedHeader(reported)
      .sign(by.privateKey);
  };
  return { url, pages, asked, key, serveKeys, sign };
}

const NO_ROWS: Reader = { all: () => [], get: () => undefined };

export type DoorWishes = Partial<OauthConfig> & {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly reader?: Reader;
  readonly tenant?: string;
};

/** An authenticator that takes tokens of this issuer. */
export function openDoor(issuer: Pick<TestIssuer, 'url'> | null, wishes: DoorWishes = {}) {
  const {
    clock = { nowMs: () => NOON, monotonicMs: () => 0 },
    log,
    reader = NO_ROWS,
    tenant,
    ...oauth
  } = wishes;
  const config = {
    gateway: { tenant: tenant ?? 'default' },
    oauth: {
      ...{ issuer: issuer?.url ?? null, audience: issuer === null ? null : AUDIENCE, jwksUrl: null },
      ...{ principalKind: 'agent', principalClaim: 'sub', tenantClaim: null },
      ...{ deviceClaim: null, channelClaim: null },
      ...oauth,
    } as OauthConfig,
  };
  const authenticate = makeAuthenticator({ reader, config, clock, ...(log === undefined ? {} : { log }) });
  return (token: string): Promise<Authenticated> => authenticate({ authorization: `Bearer ${token}` });
}

/** What was said, without the words for people. */
export function verdictOf(answer: Authenticated): string {
  return answer.ok ? 'ok' : answer.reason;
}

/** What a token says, whoever signed it. */
export function readUnverified(token: string) {
  return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
}

/** Tells whether a key made the signature of a token, whatever the token says. */
export async function isSignedBy(token: string, jwk: JWK, alg: string): Promise<boolean> {
  return jwtVerify(token, await importJWK(jwk, alg), { currentDate: new Date(NOON) }).then(
    () => true,
    (error: { readonly code?: string }) => error.code !== 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  );
}
