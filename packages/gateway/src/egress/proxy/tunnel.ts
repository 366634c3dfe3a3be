import type { Socket } from 'node:net';
import type { Exchange } from './exchange.ts';
import { relay } from './relay.ts';

const ESTABLISHED = Buffer.from('HTTP/1.1 200 Connection established\r\n\r\n');

/** Joins a client and a target. Nothing is known of what they say; each may stop speaking before the other. */
export function tunnel(exchange: Exchange, target: Socket): void {
  const { client } = exchange;
  exchange.answer(ESTABLISHED);
  relay(client, target, (piece) => (exchange.pass('bytesOut', piece.length) ? [piece] : []));
  relay(target, client, (piece) => (exchange.pass('bytesIn', piece.length) ? [piece] : []));
  client.once('end', () => target.end());
  target.once('end', () => client.end());
}
