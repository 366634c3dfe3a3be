import { createSecureContext, type SecureContext } from 'node:tls';
import { formatHost, type Host } from '../authority.ts';
import type { Authority } from './certificate.ts';

/** Opens tunnels to the hosts that it is for, with a certificate for each. */
export type Interceptor = {
  readonly isFor: (host: Host) => boolean;
  /** What the server side of TLS needs to be taken for the host by who trusts the authority. Refuses any other host. */
  readonly contextFor: (host: Host) => SecureContext;
};

export type InterceptorTerms = {
  readonly authority: Authority;
  readonly isFor: (host: Host) => boolean;
};

/** Hosts whose contexts are kept. A run that reaches more gets new certificates for those it used longest ago. */
const CONTEXTS = 1_024;

export function newInterceptor({ authority, isFor }: InterceptorTerms): Interceptor {
  const contexts = new Map<string, SecureContext>();
  const contextFor = (host: Host): SecureContext => {
    const name = formatHost(host);
    // Boundary: for a host that is not opened there is no certificate, whoever asks.
    if (!isFor(host))
      throw new TypeError(`Cannot open tunnel: "${name}" is not a host to open, expected one that is`);
    const context = contexts.get(name) ?? makeContext(authority, host);
    contexts.delete(name);
    contexts.set(name, context);
    // Boundary: a run that asks for ever new names does not fill the memory of the gateway.
    const [oldest] = contexts.keys();
    if (contexts.size > CONTEXTS && oldest !== undefined) contexts.delete(oldest);
    return context;
  };
  return { isFor, contextFor };
}

function makeContext(authority: Authority, host: Host): SecureContext {
  const { keyPem, certificatePem } = authority.leafFor(host);
  // No client shows a certificate here, so none is trusted; without the empty list every context would hold all roots.
  return createSecureContext({ key: keyPem, cert: certificatePem, ca: [], minVersion: 'TLSv1.2' });
}
