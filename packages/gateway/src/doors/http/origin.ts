import type { HttpConfig } from '../../config/config.ts';
import { quote } from '../../core/hostile-text.ts';
import { type HeaderFields, RequestRefused } from './problem.ts';

/*
 * Checks of Host and Origin. A hostile page can make a browser send requests to this machine, under any name that its
 * author points here (DNS rebinding). So the Host must be one of our names, and an Origin must be our own or one that
 * the operator named.
 */

/** The headers that say for which host a request is, and which page sent it. */
type OriginHeaders = { readonly host: string | undefined; readonly origin: string | undefined };

/** Throws if the request is not for us; returns the CORS headers that let the page read the answer. */
export type OriginCheck = (headers: OriginHeaders, localAddress: string | undefined) => HeaderFields;

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/;
const NONE: HeaderFields = {};

export function makeOriginCheck(http: HttpConfig, listening: { readonly host: string }): OriginCheck {
  const publicUrl = http.publicUrl === null ? null : new URL(http.publicUrl);
  const names = new Set([...LOOPBACK, bracketed(listening.host), ...http.allowedHosts.map(hostNameOf)]);
  if (publicUrl !== null) names.add(publicUrl.hostname);
  const origins = new Set(http.allowedOrigins.map((origin) => origin.toLowerCase()));
  return ({ host, origin }, localAddress) => {
    if (host === undefined) throw new RequestRefused('door/wrong-usage', NO_HOST);
    const name = hostNameOf(host);
    // Boundary: another name that resolves to this machine is not ours.
    if (!names.has(name) && !isOwnAddress(name, localAddress)) throw notForUs(host);
    if (origin === undefined) return NONE;
    // Boundary: a page speaks for its author, not for the user who looks at it.
    if (origins.has(origin)) return { 'access-control-allow-origin': origin, vary: 'origin' };
    if (isOwnPage(origin, host) || origin === publicUrl?.origin) return NONE;
    throw new RequestRefused(
      'door/forbidden-origin',
      `Cannot answer the page of ${quote(origin)}: it is not in http.allowed_origins, expected one that is`,
    );
  };
}

const NO_HOST = 'Cannot read the request: it has no header Host, expected one';

/** The name without its port, in lower case; empty where it is not a host, and so not a name of ours. */
function hostNameOf(host: string): string {
  return HOST.exec(host.toLowerCase())?.[1] ?? '';
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host.toLowerCase();
}

/** The address that the connection came to. Only this machine can have a page under it. */
function isOwnAddress(name: string, localAddress: string | undefined): boolean {
  if (localAddress === undefined || name === '') return false;
  return name === bracketed(localAddress.replace(/^::ffff:(?=[0-9.]+$)/, ''));
}

function isOwnPage(origin: string, host: string): boolean {
  return origin === `http://${host.toLowerCase()}`;
}

function notForUs(host: string): RequestRefused {
  return new RequestRefused(
    'door/forbidden-origin',
    `Cannot answer for the host ${quote(host)}: it is not a name of this gateway, expected one of http.allowed_hosts`,
  );
}
