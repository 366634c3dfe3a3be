import type { Json } from './json.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Tells operators what happens: an event of few words, and facts beside it. Never what a call was given or gave. */
export type Log = (level: LogLevel, event: string, facts?: Readonly<Record<string, Json>>) => void;

export const NO_LOG: Log = () => undefined;
