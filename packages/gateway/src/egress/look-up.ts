import type { HostName } from './authority.ts';
import { EGRESS_LIMITS } from './limits.ts';
import { accept, type Parsed } from './parsed.ts';

/** Asks a name server for all addresses of a name. It should stop when the signal says so; nobody waits for it then. */
export type Lookup = (name: HostName, signal: AbortSignal) => Promise<readonly string[]>;

type LookUpOptions = { readonly lookup: Lookup; readonly lookupMs: number; readonly signal: AbortSignal };

/** Looks a name up once, for so long and no longer, and gives a bounded number of answers or what went wrong. */
export async function lookUp(name: HostName, options: LookUpOptions): Promise<Parsed<readonly string[]>> {
  const { lookup, lookupMs, signal } = options;
  if (signal.aborted) return fail('the call has ended');
  const stop = new AbortController();
  const ended = new Promise<Parsed<never>>((end) => {
    const timer = setTimeout(() => end(fail(`its name was not found within ${lookupMs} ms`)), lookupMs);
    const onAbort = () => end(fail('the call has ended'));
    signal.addEventListener('abort', onAbort, { once: true });
    stop.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    });
  });
  try {
    const asked = Promise.resolve()
      .then(() => lookup(name, stop.signal))
      .then(checkAnswers, (error: unknown) => fail(`its name cannot be looked up (${codeOf(error)})`));
    return await Promise.race([asked, ended]);
  } finally {
    // Ends the timer and the listeners as well, and tells a lookup that is still under way.
    stop.abort();
  }
}

function checkAnswers(answers: readonly string[]): Parsed<readonly string[]> {
  const most = EGRESS_LIMITS.answers;
  // Boundary: a name server decides how long an answer is; each address is checked, so there are not many.
  return answers.length > most
    ? fail(`its name has ${answers.length} addresses, expected at most ${most}`)
    : accept(answers);
}

function fail(why: string): { readonly ok: false; readonly why: string } {
  return { ok: false, why };
}

/** The code of the resolver (`ENOTFOUND`); its message could repeat what a server sent. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Z][A-Z0-9_]{0,31}$/.test(code) ? code : 'failed';
}
