import { parsePortRange } from '../core/ports.ts';
import { isName, parsePrincipal } from '../core/principal.ts';
import { PROTECTED_NAMES } from '../core/protected.table.ts';

type Grammar = { readonly accepts: (text: string) => boolean; readonly expected: string };

const HOST_NAME = /^(?:\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,253}$/;
/** A name, what is below a name, an address or a range, and the port that may follow. */
const EGRESS_TARGET =
  /^(?:(?:\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,253}|\[[0-9A-Fa-f:.]{2,45}\])(?:\/[0-9]{1,3})?(?::[0-9]{1,5})?$/;

const LISTEN_ADDRESS = /^(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:]{2,39}\]):[0-9]{1,5}$/;
const URL_TEXT = /^https?:\/\/[!-~]{1,2040}$/;

/** The shapes that texts in palisade.toml can have. */
export const GRAMMARS = {
  name: {
    accepts: isName,
    expected: 'a name of up to 128 letters, digits and . _ @ + - that begins with a letter or digit',
  },
  principal: {
    accepts: (text) => parsePrincipal(text) !== null,
    expected: '"agent:NAME", "user:NAME" or "service:NAME"',
  },
  'variable-pattern': {
    accepts: (text) => /^[A-Za-z0-9_*]{1,128}$/.test(text),
    expected: 'a variable name of letters, digits and _ in which * stands for any characters',
  },
  'subject-pattern': {
    accepts: (text) => /^[A-Za-z0-9._@+:/*-]{1,256}$/.test(text),
    expected: 'a subject such as "agent:ada" in which * stands for any characters',
  },
  path: {
    accepts: (text) => /^\/[^\0]{0,4095}$/.test(text),
    expected: 'an absolute path such as "/srv/work"',
  },
  'path-or-none': {
    accepts: (text) => /^(?:\/[^\0]{0,4095})?$/.test(text),
    expected: 'an absolute path such as "/srv/palisade/a-file", or "" for none',
  },
  'inner-path': {
    accepts: (text) => /^[^/\0][^\0]{0,4095}$/.test(text) && !text.split('/').includes('..'),
    expected: 'a path inside the workspace such as ".git/hooks", relative and without ".."',
  },
  'protected-row': {
    accepts: (text) => PROTECTED_NAMES.some((name) => name === text),
    expected: `one of ${PROTECTED_NAMES.join(', ')}`,
  },
  'port-range': {
    accepts: (text) => parsePortRange(text) !== null,
    expected: 'a port from 1024 to 65535 such as "5173", or a range such as "8000-8999"',
  },
  // Which there are is decided by the runner.
  'tool-home': {
    accepts: (text) => /^(?:[a-z]{2,16}|\*)$/.test(text),
    expected: 'the name of a tool home such as "nvm", or "*" for all that are there',
  },
  program: {
    accepts: (text) => /^[^\0/]{1,255}$|^\/[^\0]{1,4095}$/.test(text),
    expected: 'the name of a program such as "git", its absolute path, or "*" for every program',
  },
  // What an entry means, and whether it means anything, is decided by egress.
  'egress-entry': {
    accepts: (text) => /^[!-~][ -~]{0,1023}$/.test(text),
    expected: 'an entry such as "example.com", "*.example.com:443", "10.1.2.0/24:8080" or "!bad.example.com"',
  },
  'egress-host': {
    accepts: (text) => HOST_NAME.test(text) && !/(?:^|\.)[0-9]+\.?$/.test(text),
    expected: 'a host such as "api.example.com" or "*.example.com", without a scheme, a port and a path',
  },
  'egress-target': {
    accepts: (text) => EGRESS_TARGET.test(text),
    expected: 'a host such as "api.example.com" or "api.example.com:8443", without a scheme and a path',
  },
  'listen-address': {
    accepts: (text) => LISTEN_ADDRESS.test(text) && Number(/[0-9]+$/.exec(text)?.[0]) <= 65_535,
    expected: 'an address and a port such as "127.0.0.1:7433" or "[::1]:7433"',
  },
  'host-name': {
    accepts: (text) => /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?$/.test(text),
    expected: 'a host such as "palisade.example.com", with a port where it is not the usual one',
  },
  origin: {
    accepts: (text) => /^https?:\/\/[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?$/.test(text),
    expected: 'an origin such as "https://console.example.com", without a path',
  },
  'url-or-none': {
    accepts: (text) => text === '' || (URL_TEXT.test(text) && URL.canParse(text)),
    expected: 'an address such as "https://id.example.com/path", or "" for none',
  },
  'text-or-none': {
    accepts: (text) => /^[!-~]{0,512}$/.test(text),
    expected: 'a text without spaces of at most 512 characters, or "" for none',
  },
  word: {
    accepts: (text) => /^[^\0]{0,4096}$/.test(text),
    expected: 'a text of at most 4096 characters without NUL',
  },
  'upstream-name': {
    accepts: (text) => /^[a-z][a-z0-9-]{0,31}$/.test(text),
    expected: 'a name of up to 32 small letters, digits and - that begins with a letter',
  },
  // The rest is what palisade itself sets for a run.
  'secret-variable': {
    accepts: (text) =>
      /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(text) &&
      !/^(?:PATH|HOME|TMPDIR|LANG|TERM|USER|LOGNAME|SHELL|.*_PROXY)$/i.test(text),
    expected:
      'a variable name such as "API_TOKEN" that is not PATH, HOME, TMPDIR, LANG, TERM, USER, LOGNAME, SHELL or one of a proxy',
  },
} as const satisfies Record<string, Grammar>;

export type GrammarName = keyof typeof GRAMMARS;

const UNIT_MS = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Reads "90s", "1m", "1h" or "1d" as milliseconds; anything else is null. */
export function parseDuration(raw: string): number | null {
  const [, count, unit] = /^([1-9][0-9]{0,8})([smhd])$/.exec(raw) ?? [];
  const unitMs = UNIT_MS.get(unit ?? '');
  return count === undefined || unitMs === undefined ? null : Number(count) * unitMs;
}

/** Writes milliseconds in the largest unit that divides them. */
export function formatDuration(ms: number): string {
  const fitting = [...UNIT_MS].filter(([, unitMs]) => ms % unitMs === 0);
  const [unit, unitMs] = fitting.at(-1) ?? ['s', 1000];
  return `${ms / unitMs}${unit}`;
}

/** Whether a whole text fits a pattern in which `*` stands for any characters, in time linear in both. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (!text.startsWith(first)) return false;
  const last = rest.pop();
  if (last === undefined) return text.length === first.length;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}
