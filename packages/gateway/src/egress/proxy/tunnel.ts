import type { Socket } from 'node:net';
import type { Host } from '../authority.ts';
import type { Exchange } from './exchange.ts';
import { readHello } from './read-hello.ts';
import { relay } from './relay.ts';
import { problemWithName } from './server-name.ts';

const ESTABLISHED = Buffer.from('HTTP/1.1 200 Connection established\r\n\r\n');

/**
 * Joins a client and a target. Of what they say only the hello of TLS is looked at; each may stop speaking before the
 * other, and the target may speak first.
 */
export async function tunnel(exchange: Exchange, host: Host, target: Socket): Promise<void> {
  const { client } = exchange;
  exchange.begin([]);
  establish(exchange);
  relay(target, client, (piece) => (exchange.pass('bytesIn', piece.length) ? [piece] : []));
  target.once('end', () => client.end());
  const opening = await readHello(client);
  if (exchange.isOver) return;
  const problem = problemWithName(opening, host);
  if (problem !== null) return exchange.cut(problem);
  if (opening.kind === 'silent') {
    target.end();
    return;
  }
  relay(client, target, (piece) => (exchange.pass('bytesOut', piece.length) ? [piece] : []));
  client.once('end', () => target.end());
}

/** Tells a client that its tunnel is there. Who came through a door asked for none, and hears nothing. */
export function establish(exchange: Exchange): void {
  if (exchange.canAnswer) exchange.answer(ESTABLISHED);
}
