import { inert } from '../../core/hostile-text.ts';
import type { CallContext } from '../tier.ts';

export type GuestLog = {
  /** Passes a line on at once. Neither number nor bytes were looked at before. */
  readonly add: (level: unknown, text: Uint8Array) => void;
  /** Tells the reader, at the end of the call, when lines were left out here or in the engine; gives whether any were. */
  readonly end: (isCutInEngine: boolean) => boolean;
};

/** The words of the levels, by their numbers in the ABI; another number has none. */
const LEVELS: readonly string[] = ['debug', 'info', 'warning', 'error'];
const NO_LEVEL = 'log';

/** Puts the lines of a guest's log on standard error, each behind the word of its level; nothing else keeps them. */
export function newGuestLog(onOutput: CallContext['onOutput'], mostBytes: number): GuestLog {
  let bytesLeft = mostBytes;
  let isCut = false;
  const write = (line: string) => onOutput?.('stderr', Buffer.from(`${line}\n`));
  return {
    add: (level, text) => {
      const word = (typeof level === 'number' ? LEVELS[level] : undefined) ?? NO_LEVEL;
      // Boundary: the text is the guest's; what it cannot do is end its line, so the word in front is always ours.
      const line = `${word}: ${inert(Buffer.from(text).toString('utf8'))}`;
      bytesLeft -= Buffer.byteLength(line) + 1;
      // Boundary: the engine has a quota as well, but hostile code runs beside it.
      if (bytesLeft >= 0) write(line);
      else isCut = true;
    },
    end: (isCutInEngine) => {
      if (isCut || isCutInEngine) write(`… and more: a log is cut at ${mostBytes} bytes`);
      return isCut || isCutInEngine;
    },
  };
}
