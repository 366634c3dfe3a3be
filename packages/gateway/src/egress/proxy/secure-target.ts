import type { Socket } from 'node:net';
import { checkServerIdentity, connect, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { formatHost, type Host } from '../authority.ts';
import { quote } from '../parsed.ts';
import { found, type Read, turnDown } from './refusal.ts';
import { codeOf } from './secure-client.ts';

export type TrustTerms = {
  readonly withinMs: number;
  /** Instead of the authorities that Node trusts. */
  readonly trust: SecureContextOptions['ca'];
};

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
export function connectTls(socket: Socket, host: Host, terms: TrustTerms): Promise<Read<TLSSocket>> {
  const { withinMs, trust } = terms;
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
    const finish = (outcome: Read<TLSSocket>) => {
      clearTimeout(timer);
      resolve(outcome);
    };
    const fail = (status: number, is: string) =>
      finish(
        turnDown(status, `Cannot trust target ${quote(name)}: ${is}, expected a certificate for this host`),
      );
    const timer = setTimeout(() => fail(504, `its handshake took more than ${withinMs} ms`), withinMs);
    channel.on('error', (error) => {
      const code = codeOf(error);
      fail(502, `${PROBLEMS[code] ?? 'its handshake failed'} (${code})`);
    });
    channel.once('close', () => fail(502, 'it broke off the handshake'));
    channel.once('secureConnect', () => finish(found(channel)));
  });
}
