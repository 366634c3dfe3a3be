import type { Host } from '../authority.ts';
import type { Site } from '../http-url.ts';
import type { TunnelRequest } from './request-head.ts';

/**
 * A listening socket that stands for one target: whoever connects to it means that target. It knows no proxy protocol and
 * asks for no credential, so only the run may be able to connect to it.
 */
export type Door = {
  readonly host: Host;
  readonly port: number;
  /** Whether what is said there is HTTP in the open; what is not is passed on as it comes. */
  readonly isHttp: boolean;
};

export function siteOf({ host, port }: Door): Site {
  return { scheme: 'http', host, port };
}

/** What a connection to a door that is no HTTP asks for. */
export function tunnelThrough({ host, port }: Door): TunnelRequest {
  return { kind: 'tunnel', method: 'CONNECT', asked: { host, port }, credential: null, minor: 1 };
}
