import type { Socket } from 'node:net';
import { checkServerIdentity, connect, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { quote } from '../../core/hostile-text.ts';
import { formatHost, type Host } from '../authority.ts';
import { codeOf } from '../error-code.ts';

export type TrustTerms = {
  readonly withinMs: number;
  readonly signal: AbortSignal;
  /** Instead of the authorities that Node trusts. */
  readonly trust: SecureContextOptions['ca'];
};

/** The target inside TLS, or the sentence on why it is not there. */
export type Secured =
  | { readonly ok: true; readonly channel: TLSSocket }
  | { readonly ok: false; readonly isLate: boolean; readonly why: string };

const UNTRUSTED = 'its certificate is of an authority that is not trusted';
/** What a code of the handshake means for people. */
const PROBLEMS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'it does not speak HTTP/1.1',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
  ECONNRESET: 'it broke off the handshake',
};

/** Speaks TLS to a target. What is given belongs to who has proved to be the host, and speaks HTTP/1.1. */
export function connectTls(
  socket: Socket,
  host: Host,
  { withinMs, signal, trust }: TrustTerms,
): Promise<Secured> {
  const name = formatHost(host);
  return new Promise((resolve) => {
    const channel = connect({
      socket,
      // Only a name is sent; an address is what the certificate has to have.
      ...(host.kind === 'name' ? { servername: name } : { host: name }),
      ...(trust === undefined ? {} : { ca: trust }),
      // Boundary: the target is the host that was decided on, or it hears nothing. Said here, so that no setting of the
      // environment turns it off.
      rejectUnauthorized: true,
      checkServerIdentity: (_named, certificate) => checkServerIdentity(name, certificate),
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
    });
    const finish = (outcome: Secured) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      channel.off('close', onClose);
      if (!outcome.ok) channel.destroy();
      resolve(outcome);
    };
    const fail = (is: string, isLate: boolean) => {
      const why = `Cannot trust target ${quote(name)}: ${is}, expected a certificate for this host`;
      finish({ ok: false, isLate, why });
    };
    const onAbort = () => fail('it is not wanted any more', false);
    const onClose = () => fail('it broke off the handshake', false);
    const timer = setTimeout(() => fail(`its handshake took more than ${withinMs} ms`, true), withinMs);
    signal.addEventListener('abort', onAbort, { once: true });
    // It stays: who has the channel next notices its end, and an error alone must not end the program.
    channel.on('error', (error) => {
      const code = codeOf(error);
      fail(`${PROBLEMS[code] ?? 'its handshake failed'} (${code})`, false);
    });
    channel.once('close', onClose);
    channel.once('secureConnect', () => finish({ ok: true, channel }));
    // One that is aborted already says nothing any more.
    if (signal.aborted) onAbort();
  });
}
