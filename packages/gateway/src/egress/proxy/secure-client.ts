import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import { codeOf } from '../error-code.ts';

/** The client inside TLS, or the sentence on why it is not there. */
export type Inside = { readonly ok: true; readonly socket: TLSSocket } | { readonly ok: false; why: string };

/** Is the server of TLS to a client whose hello is there and still to be read. It waits as long as the client. */
export function acceptTls(client: Socket, secureContext: SecureContext): Promise<Inside> {
  return new Promise((resolve) => {
    const socket = new TLSSocket(client, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
    const fail = (is: string) => {
      const why = `Cannot look into tunnel: ${is}, expected a client that trusts the certificate of the run`;
      resolve({ ok: false, why });
    };
    // An error comes before the end of what it broke; afterwards whoever has the socket listens for its end.
    socket.on('error', (error) => fail(`the client broke off TLS (${codeOf(error)})`));
    socket.once('end', () => fail('the client ended in the middle of TLS'));
    socket.once('close', () => fail('the client went away in the middle of TLS'));
    socket.once('secure', () => resolve({ ok: true, socket }));
  });
}
