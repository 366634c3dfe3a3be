import type { Socket } from 'node:net';
import { connect, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { formatAuthority, formatHost } from '../authority.ts';
import type { EgressRequest } from '../decide.ts';
import { quote } from '../parsed.ts';
import { fail, give, type Result } from './outcome.ts';

export type SecureTerms = {
  readonly withinMs: number;
  readonly signal: AbortSignal;
  readonly trust: SecureContextOptions['ca'];
};

/** Speaks TLS over a connection. What is given belongs to a target that has proved to be the host, and speaks HTTP/1.1. */
export function secure(
  socket: Socket,
  { host, port }: EgressRequest,
  { withinMs, signal, trust }: SecureTerms,
): Promise<Result<TLSSocket>> {
  return new Promise((resolve) => {
    const channel = connect({
      socket,
      // The certificate is compared with the host; only a name is sent along.
      host: formatHost(host),
      ...(host.kind === 'name' ? { servername: host.name } : {}),
      ...(trust === undefined ? {} : { ca: trust }),
      // Boundary: said here, so that no setting of the environment turns it off.
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
    });
    const finish = (outcome: Result<TLSSocket>) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      channel.off('error', onError);
      channel.on('error', ignore);
      if (!outcome.ok) channel.destroy();
      resolve(outcome);
    };
    const target = quote(formatAuthority(host, port));
    const onAbort = () => finish(fail('cancelled', `Cannot reach ${target}: the call has ended`));
    const onError = (error: Error) => {
      const is = `its TLS or its certificate is not good (${codeOf(error)})`;
      finish(fail('unreachable', `Cannot reach ${target}: ${is}, expected a certificate for this host`));
    };
    const timer = setTimeout(() => {
      const is = 'its handshake is not done';
      finish(fail('too-slow', `Cannot reach ${target}: ${is}, expected it within ${withinMs} ms`));
    }, withinMs);
    signal.addEventListener('abort', onAbort, { once: true });
    channel.once('error', onError);
    channel.once('secureConnect', () => finish(give(channel)));
  });
}

/** Who has the channel next notices its end; an error alone must not end the program. */
function ignore(): void {}

/** The code alone: the message of a wrong certificate repeats what the target sent. */
function codeOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  return /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'failed';
}
