import type { Socket } from 'node:net';

/** Turns a piece that came in into what goes out for it; nothing when it must not. */
export type RelayStep = (piece: Buffer) => readonly Buffer[];

/** What one read gives at most. A read that gave so much is followed by another at once. */
const READ_BYTES = 64 * 1024;
/** So much is written in one go, and may wait for a receiver that takes nothing; the system itself holds far more for one. */
const GATHERED_BYTES = 512 * 1024;

/**
 * Passes bytes on, no faster than the receiver takes them: what cannot be written is not read. Pieces that come one right
 * after another are written together, since a write costs more than a piece.
 */
export function relay(from: Socket, to: Socket, step: RelayStep): void {
  let isGathering = false;
  const flush = () => {
    if (!isGathering) return;
    isGathering = false;
    to.uncork();
    // A write says "enough" before it is tried; only what is still there afterwards has to wait.
    if (to.writableNeedDrain && to.writableLength > 0) from.pause();
  };
  from.on('data', (piece: Buffer) => {
    const parts = step(piece);
    if (!isGathering) to.cork();
    isGathering = true;
    for (const part of parts) to.write(part);
    if (piece.length < READ_BYTES || to.writableLength >= GATHERED_BYTES) flush();
    else setImmediate(flush);
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
