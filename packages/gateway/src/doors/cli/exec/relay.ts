import { constants } from 'node:os';
import type { Edge, Invocation } from '../verb.ts';

const LINE_FEED = 0x0a;

/** Passes on what a command prints while it runs, byte for byte. */
export type Relay = {
  /** Fires at Ctrl-C, and when nobody reads any more. */
  readonly signal: AbortSignal;
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void;
  /** Ends the last line on standard error, so that ours begins at its beginning. */
  readonly endLine: () => void;
  readonly isUnread: () => boolean;
};

/** The status of a program that wrote to a pipe without a reader. */
export const BROKEN_PIPE_STATUS = 128 + constants.signals.SIGPIPE;

export function openRelay({ edge, signal }: Pick<Invocation, 'edge' | 'signal'>): Relay {
  const unread = new AbortController();
  // The command is told as by a broken pipe, and its call is still recorded and settled.
  edge.whenUnread(() => unread.abort(new Error('nobody reads the output')));
  let isAtLineStart = true;
  return {
    signal: AbortSignal.any([signal, unread.signal]),
    onOutput: (stream, chunk) => {
      if (chunk.length === 0) return;
      if (stream === 'stderr') isAtLineStart = chunk[chunk.length - 1] === LINE_FEED;
      else if (unread.signal.aborted) return;
      sinkOf(edge, stream).write(chunk);
    },
    endLine: () => {
      if (!isAtLineStart) edge.stderr.write('\n');
      isAtLineStart = true;
    },
    isUnread: () => unread.signal.aborted,
  };
}

function sinkOf(edge: Edge, stream: 'stdout' | 'stderr'): NodeJS.WritableStream {
  return stream === 'stdout' ? edge.stdout : edge.stderr;
}
