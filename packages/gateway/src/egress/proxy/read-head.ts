import type { Socket } from 'node:net';
import { type Head, HeadReader, type HeadTerms } from './head-reader.ts';
import { found, type Read } from './refusal.ts';

export type ReadHeadTerms = HeadTerms & {
  readonly withinMs: number;
  /** Given when the time is over. */
  readonly late: Read<never>;
  readonly onBytes?: (bytes: number) => void;
};

/**
 * Reads one head off a socket and leaves the socket paused, with what follows the head still to be read. Null when the
 * other side ended before the head did.
 */
export function readHead(socket: Socket, terms: ReadHeadTerms): Promise<Read<Head['lines']> | null> {
  const reader = new HeadReader(terms);
  return new Promise((resolve) => {
    const finish = (outcome: Read<Head['lines']> | null) => {
      clearTimeout(timer);
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      socket.pause();
      resolve(outcome);
    };
    const onEnd = () => finish(null);
    const onData = (piece: Buffer) => {
      const head = reader.read(piece);
      if (!head.ok) finish(head);
      else if (head.value !== null) {
        finish(found(head.value.lines));
        terms.onBytes?.(piece.length - head.value.rest.length);
        if (head.value.rest.length > 0) socket.unshift(head.value.rest);
      } else terms.onBytes?.(piece.length);
    };
    // Boundary: the time is for the whole head, so a byte now and then does not hold a connection open.
    const timer = setTimeout(() => finish(terms.late), terms.withinMs);
    socket.on('end', onEnd).on('close', onEnd).on('data', onData);
    socket.resume();
  });
}
