import { quote } from '../core/hostile-text.ts';
import { accept, type Result, reject } from '../core/result.ts';
import type { HostName } from './authority.ts';
import { EGRESS_LIMITS } from './limits.ts';

/** Asks a name server for all addresses of a name. It should stop when the signal says so; nobody waits for it then. */
export type Lookup = (name: HostName, signal: AbortSignal) => Promise<readonly string[]>;

type LookUpOptions = { readonly lookup: Lookup; readonly lookupMs: number; readonly signal: AbortSignal };

/** Looks a name up once, for so long and no longer, and gives a bounded number of answers or what went wrong. */
export async function lookUp(name: HostName, options: LookUpOptions): Promise<Result<readonly string[]>> {
  const { lookup, lookupMs, signal } = options;
  if (signal.aborted) return fail(name, 'the call has ended', 'one that still runs');
  const stop = new AbortController();
  const ended = new Promise<Result<never>>((end) => {
    const timer = setTimeout(
      () => end(fail(name, 'its name was not resolved in time', `an answer within ${lookupMs} ms`)),
      lookupMs,
    );
    const onAbort = () => end(fail(name, 'the call has ended', 'one that still runs'));
    signal.addEventListener('abort', onAbort, { once: true });
    stop.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    });
  });
  try {
    const asked = Promise.resolve()
      .then(() => lookup(name, stop.signal))
      .then(
        (answers) => checkAnswers(name, answers),
        (error: unknown) =>
          fail(name, `its name cannot be resolved (${codeOf(error)})`, 'a name with an address'),
      );
    return await Promise.race([asked, ended]);
  } finally {
    // Ends the timer and the listeners as well, and tells a lookup that is still under way.
    stop.abort();
  }
}

function checkAnswers(name: HostName, answers: readonly string[]): Result<readonly string[]> {
  const most = EGRESS_LIMITS.answers;
  // Boundary: a name server decides how long an answer is; each address is checked, so there are not many.
  return answers.length > most
    ? fail(name, `its name has ${answers.length} addresses`, `at most ${most}`)
    : accept(answers);
}

function fail(name: HostName, is: string, expected: string) {
  return reject({ subject: `host ${quote(name)}`, is, expected });
}

/** The code of the resolver (`ENOTFOUND`); its message could repeat what a server sent. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Z][A-Z0-9_]{0,31}$/.test(code) ? code : 'failed';
}
