import type { LogLine } from '../../core/call-log.ts';
import { inert } from '../../core/hostile-text.ts';
import type { CallContext } from '../tier.ts';
import { LOG_LEVELS } from './engine/abi.table.ts';

export type GuestLog = {
  /** Forwards a line at once, and keeps it. Neither level nor text has been checked. */
  readonly add: (level: unknown, text: Uint8Array) => void;
  /** At the end of the call, adds a line if any were left out here or in the engine; returns whether any were. */
  readonly end: (isCutInEngine: boolean) => boolean;
  /** What is kept with the call, as the guest wrote it. */
  readonly kept: () => { readonly lines: readonly LogLine[]; readonly isCut: boolean };
};

/** The prefix of a line whose level is not one of the ABI. */
const NO_LEVEL = 'log';
/** Lines that are kept with a call: empty ones cost next to nothing of the quota of bytes. */
const MOST_LINES = 1_000;

/** Writes the lines of a guest's log to standard error, each prefixed with its level, and keeps them for the record. */
export function newGuestLog(onOutput: CallContext['onOutput'], mostBytes: number): GuestLog {
  const lines: LogLine[] = [];
  let bytesLeft = mostBytes;
  let isCut = false;
  let isCutBefore = false;
  const write = (line: string) => onOutput?.('stderr', Buffer.from(`${line}\n`));
  return {
    add: (level, bytes) => {
      const name = (typeof level === 'number' ? LOG_LEVELS[level] : undefined) ?? NO_LEVEL;
      const text = Buffer.from(bytes).toString('utf8');
      // Boundary: the text is the guest's, but it cannot end its line, so the name in front is always ours.
      const line = `${name}: ${inert(text)}`;
      bytesLeft -= Buffer.byteLength(line) + 1;
      // Boundary: the engine enforces a quota as well, but hostile code runs beside it.
      if (bytesLeft < 0) {
        isCut = true;
        return;
      }
      write(line);
      if (lines.length < MOST_LINES) lines.push({ level: name, text });
      else isCutBefore = true;
    },
    end: (isCutInEngine) => {
      isCut ||= isCutInEngine;
      if (isCut) write(`… and more: a log is cut at ${mostBytes} bytes`);
      return isCut;
    },
    kept: () => ({ lines, isCut: isCut || isCutBefore }),
  };
}
