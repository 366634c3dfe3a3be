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

/** A function that was running when the guest trapped. */
export type TrapFrame = {
  readonly function: number;
  /** Null: its module has no name for it. */
  readonly name: string | null;
  /** The file and the line, as in `src/skill.c:12`, where the module was built for debugging. */
  readonly source?: string | undefined;
};

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
    trap: log.trap.map(({ name, source, ...at }) => ({
      ...at,
      name: name === null ? null : shown(name),
      ...(source === undefined ? {} : { source: shown(source) }),
    })),
  };
}

/** A function of a trap as the journal has it. */
export function frameFacts({ source, ...frame }: TrapFrame): { readonly [key: string]: Json } {
  return { ...frame, ...(source === undefined ? {} : { source }) };
}

function shown(text: string): string {
  return safeLine(text, MOST_SHOWN_CHARS);
}

const MOST_SHOWN_CHARS = 120;

/**
 * The functions of a trap in words, as in `in "parse" (function 12) at src/skill.c:30, called by function 3`; empty without
 * one.
 */
export function trapInWords(trap: readonly TrapFrame[]): string {
  const [first, ...callers] = trap.map(({ name, function: index, source }) => {
    const which = name === null ? `function ${index}` : `${quote(name)} (function ${index})`;
    return source === undefined ? which : `${which} at ${shown(source)}`;
  });
  if (first === undefined) return '';
  // What a language adds to a program says little to its author; the callers behind it do.
  const own = callers.filter((_, index) => !isOfRuntime(trap[index + 1]));
  const by = (own.length === 0 ? callers : own).slice(0, SHOWN_CALLERS);
  return `in ${first}${by.map((caller) => `, called by ${caller}`).join('')}`;
}

/** Functions of the libraries of languages, by their names; those without one by where their sources lie. */
const RUNTIME_NAME = /^(?:<?(?:std|core|alloc|panic_abort)::|__?rust_|rust_|~lib\/)/;
const RUNTIME_SOURCE = /^(?:\/|~lib\/)/;

function isOfRuntime(frame: TrapFrame | undefined): boolean {
  const { name = null, source = '' } = frame ?? {};
  return name === null ? RUNTIME_SOURCE.test(source) : RUNTIME_NAME.test(name);
}

const RUST_DIGEST = /^h[0-9a-f]{16}$/;

/** A name as its author writes it: one of Rust loses its lengths and its digest. */
export function readableName(name: string): string {
  if (!name.startsWith('_ZN') || !name.endsWith('E')) return name;
  const parts: string[] = [];
  let at = '_ZN'.length;
  while (at < name.length - 1) {
    const digits = /^\d{1,3}/.exec(name.slice(at, at + 3))?.[0] ?? '';
    const end = at + digits.length + Number(digits);
    if (Number(digits) === 0 || end > name.length - 1) return name;
    parts.push(name.slice(at + digits.length, end));
    at = end;
  }
  if (!RUST_DIGEST.test(parts.pop() ?? '') || parts.length === 0) return name;
  return parts.join('::').replaceAll('$u7b$$u7b$closure$u7d$$u7d$', '{closure}').replaceAll('..', '::');
}

const SHOWN_CALLERS = 2;
