import type { Socket } from 'node:net';

/** Turns a piece that came in into what goes out for it; nothing when it must not. */
export type RelayStep = (piece: Buffer) => readonly Buffer[];

/** Passes bytes on, no faster than the receiver takes them: what cannot be written is not read. */
export function relay(from: Socket, to: Socket, step: RelayStep): void {
  from.on('data', (piece: Buffer) => {
    let isTaken = true;
    for (const part of step(piece)) isTaken = to.write(part);
    if (!isTaken) from.pause();
  });
  to.on('drain', () => from.resume());
  from.resume();
}

/** Ends a connection so that the other side notices that something is missing; a mere end could pass for the whole. */
export function reset(socket: Socket): void {
  // Only TCP can be reset, and not while its end is on the way: the attempt would leave the socket open for good.
  if (socket.remoteAddress === undefined || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
