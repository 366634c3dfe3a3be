import { parseBase } from './address.ts';

export type ClientOptions = {
  /** Where the gateway is: `http://127.0.0.1:7171`, or with the path under which a proxy has it. */
  readonly url: string | URL;
  /** The bearer token; a function is called before each request, for short-lived tokens. */
  readonly token: string | (() => string | Promise<string>);
  /** How often a request that may be repeated is repeated; 3 by default. */
  readonly retries?: number;
  /** How long a request may be silent before it is aborted; 60 s by default, 0 for no limit. */
  readonly timeoutMs?: number;
} & Partial<Surroundings>;

/** The options of a client, checked. */
export type Connection = Surroundings & {
  readonly base: URL;
  readonly token: () => Promise<string>;
  readonly retries: number;
  readonly timeoutMs: number;
};

const RETRIES = 3;
const TIMEOUT_MS = 60_000;
/** The longest that timers take. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_RETRIES = 100;

/** Checks the options once, so that mistakes show where the client is made. */
export function connectionOf(options: ClientOptions): Connection {
  const { token, retries = RETRIES, timeoutMs = TIMEOUT_MS } = options;
  requireCount('retries', retries, MAX_RETRIES);
  requireCount('timeoutMs', timeoutMs, MAX_TIMEOUT_MS);
  if (typeof token === 'string') requireToken(token);
  return {
    base: parseBase(options.url),
    token: async () => requireToken(typeof token === 'string' ? token : await token()),
    retries,
    timeoutMs,
    fetch: options.fetch ?? HOST.fetch,
    random: options.random ?? HOST.random,
    wait: options.wait ?? HOST.wait,
  };
}

/** Refuses anything but a whole number from 0 to the most. */
export function requireCount(name: string, value: number, most: number = MAX_TIMEOUT_MS): void {
  if (Number.isInteger(value) && value >= 0 && value <= most) return;
  throw new TypeError(`Cannot use ${name}: it is ${value}, expected a whole number from 0 to ${most}`);
}

function requireToken(token: unknown): string {
  // Boundary: a malformed token never becomes a header, and is never part of an error.
  if (typeof token === 'string' && /^[\x21-\x7e]{1,8192}$/.test(token)) return token;
  throw new TypeError('Cannot use the token: it is malformed, expected visible ASCII without spaces');
}

/** What a client takes from its platform; each can be passed in. */
export type Surroundings = {
  readonly fetch: typeof fetch;
  /** Unpredictable bytes, for keys of calls and for spreading repeats. */
  readonly random: (count: number) => Uint8Array;
  /** Resolves after this many milliseconds, and at once when the signal fires. */
  readonly wait: (ms: number, signal: AbortSignal | null) => Promise<void>;
};

/** Those of a browser or of Node. */
export const HOST: Surroundings = {
  // Browsers refuse a fetch that is detached from its global object.
  fetch: (...args) => globalThis.fetch(...args),
  random: (count) => crypto.getRandomValues(new Uint8Array(count)),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener('abort', end);
      if (signal?.aborted) end();
    }),
};
