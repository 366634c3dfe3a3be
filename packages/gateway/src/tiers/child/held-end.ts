import { closeSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { HeldEnd } from './live-child.ts';

/** The writing end of a pipe whose only use is that it is open, or one message: that needs no stream. */
export function heldEnd(fd: number): HeldEnd {
  let isOurs = true;
  let waiting: Socket | null = null;
  const destroy = () => {
    if (isOurs) closeSync(fd);
    isOurs = false;
    waiting?.destroy();
  };
  return {
    destroy,
    end: (bytes) => {
      if (!isOurs) return;
      const rest = bytes.subarray(writeNow(fd, bytes));
      if (rest.length === 0) {
        destroy();
        return;
      }
      // A pipe holds so much and no more; what is left waits for its reader.
      waiting = new Socket({ fd, readable: false, writable: true });
      isOurs = false;
      waiting.on('error', () => undefined);
      waiting.end(rest);
    },
  };
}

/** How many of the bytes the pipe took at once; all of them where nobody reads it any more. */
function writeNow(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EAGAIN' ? 0 : bytes.length;
  }
}
