import type { Json } from './json.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Reports events to operators: a short event name, and facts. Never the input or output of a call. */
export type Log = (level: LogLevel, event: string, facts?: Readonly<Record<string, Json>>) => void;

export const NO_LOG: Log = () => undefined;
