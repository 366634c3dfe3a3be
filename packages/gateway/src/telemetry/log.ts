import { type Clock, isoTime } from '../core/clock.ts';
import type { Json } from '../core/json.ts';
import type { Log, LogLevel } from '../core/log.ts';

/* The log of a long-lived gateway: a line of JSON for each event, readable by people and programs. */

const ORDER: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
/** A line is meant to be read; anything longer came from a caller or a tool. */
const MOST_CHARS = 2_000;

type LogOptions = {
  readonly level: LogLevel;
  readonly clock: Clock;
  /** Removes secrets; nothing is written without it. */
  readonly redact: (value: Json) => Json;
  readonly write: (line: string) => void;
};

export function makeLog({ level, clock, redact, write }: LogOptions): Log {
  return (of, event, facts = {}) => {
    if (ORDER[of] < ORDER[level]) return;
    // Boundary: facts come from requests; JSON keeps them on one line, without control characters.
    const safe = redact(shortened(facts)) as Record<string, Json>;
    write(`${JSON.stringify({ at: isoTime(clock.nowMs()), level: of, event, ...safe })}\n`);
  };
}

function shortened(facts: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > MOST_CHARS ? `${value.slice(0, MOST_CHARS)}…` : value,
    ]),
  );
}
