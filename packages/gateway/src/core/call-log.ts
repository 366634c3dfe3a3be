/*
 * What is kept of a call of a module beside its output: the lines that the guest logged, the host calls that it was
 * denied, and where it trapped. All of it is for people who read what a hostile guest may have written.
 */
import { inert, quote, safeLine } from './hostile-text.ts';
import type { Json } from './json.ts';

export type LogLine = { readonly level: string; readonly text: string };

/** A host call that was denied, or that a quota ended, with what its operator can do. */
export type HostDenial = {
  readonly function: string;
  /** What it was about: a host, a key, a name; null where there is nothing to name, or it may contain a secret. */
  readonly argument: string | null;
  readonly why: string;
  readonly sentence: string;
  readonly remedy: string;
  /** How often it was denied for the same. */
  readonly times: number;
};

/** A function that was running when the guest trapped; null: its module has no name for it. */
export type TrapFrame = { readonly function: number; readonly name: string | null };

export type CallLog = {
  readonly lines: readonly LogLine[];
  /** There were more lines than are kept. */
  readonly isCut: boolean;
  readonly denied: readonly HostDenial[];
  /** Denials beside those that are listed. */
  readonly deniedMore: number;
  /** The innermost first; empty where the guest did not trap. */
  readonly trap: readonly TrapFrame[];
};

/** Whether there is anything to keep. */
export function hasLog({ lines, isCut, denied, trap }: CallLog): boolean {
  return lines.length > 0 || isCut || denied.length > 0 || trap.length > 0;
}

/**
 * The log as it is kept and shown. Boundary: secrets are removed from what the guest wrote before it is cut or quoted,
 * so that no part of one is left; then nothing in it is active or ends its line.
 */
export function safeLog(log: CallLog, redact: (value: Json) => Json): CallLog {
  const { lines, denied } = log;
  return {
    ...log,
    lines: lines.map(({ level, text }) => ({ level, text: inert(String(redact(text))) })),
    denied: denied.map((each) => ({
      ...each,
      argument: each.argument === null ? null : shown(String(redact(each.argument))),
    })),
    trap: log.trap.map(({ name, ...at }) => ({ ...at, name: name === null ? null : shown(name) })),
  };
}

function shown(text: string): string {
  return safeLine(text, MOST_SHOWN_CHARS);
}

const MOST_SHOWN_CHARS = 120;

/** The functions of a trap in words, as in `in "parse" (function 12), called by function 3`; empty without one. */
export function trapInWords(trap: readonly TrapFrame[]): string {
  const [first, ...callers] = trap.map(({ name, function: index }) =>
    name === null ? `function ${index}` : `${quote(name)} (function ${index})`,
  );
  if (first === undefined) return '';
  const by = callers.slice(0, SHOWN_CALLERS).map((caller) => `, called by ${caller}`);
  return `in ${first}${by.join('')}`;
}

const SHOWN_CALLERS = 2;
