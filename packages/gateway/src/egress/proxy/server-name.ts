import { quote } from '../../core/hostile-text.ts';
import { formatHost, type Host, parseHost } from '../authority.ts';
import type { Opening } from './read-hello.ts';

const HTTP = 'http/1.1';

/** What is wrong with how a client begins to speak to a host; null when nothing is. What is no TLS is not looked at. */
export function problemWithName(opening: Opening, host: Host): string | null {
  if (opening.kind === 'malformed') return opening.why;
  return opening.kind === 'hello' && opening.serverName !== null ? compare(opening.serverName, host) : null;
}

/** Boundary: servers at one address pick their site by the name in the hello, so it has to be the host decided on. */
function compare(serverName: string, host: Host): string | null {
  const named = parseHost(serverName);
  if (named.ok && formatHost(named.value) === formatHost(host)) return null;
  return `Cannot go on: the TLS hello names ${quote(serverName)}, expected ${quote(formatHost(host))}`;
}

/** What is wrong with how a client begins to speak HTTP over TLS to a host; null when nothing is. */
export function problemWithHttps(opening: Opening, host: Host): string | null {
  if (opening.kind !== 'hello') return problemWithName(opening, host) ?? refuse('it is no TLS', 'https');
  const { serverName, protocols } = opening;
  // Only names are sent; who speaks to an address sends none.
  if (serverName === null && host.kind === 'name')
    return refuse('the TLS hello names nobody', quote(host.name));
  if (protocols.length > 0 && !protocols.includes(HTTP))
    return refuse(`the client speaks ${quote(protocols.join(', '))} alone`, quote(HTTP));
  return problemWithName(opening, host);
}

function refuse(is: string, expected: string): string {
  return `Cannot look into tunnel: ${is}, expected ${expected}`;
}
