import { CodedError } from '../core/coded-error.ts';
import { anyText, list, looseObject, readJson } from '../core/json-shape.ts';
import { required } from '../core/shape.ts';
import type { FailureCode } from '../egress/fetch/outcome.ts';
import type { NamedOutcome } from '../egress/named-host.ts';
import { OCI_LIMITS } from './limits.ts';

/* How requests of a registry fail. What a registry says in its own words is never shown: it may repeat a log-in. */

export type Answer = Extract<NamedOutcome, { readonly ok: true }>;

/** What was being done, and where: `pull "registry.example.com/acme/text:1.0.0"`. */
export type Task = { readonly act: string; readonly host: string; readonly secret: string };

const PROBLEMS = looseObject({ errors: required(list(looseObject({ code: required(anyText) }))) });
const PROBLEM_CODE = /^[A-Z][A-Z_]{0,39}$/;

/** The failure of a request that got no usable answer. */
export function notAnswered(
  { act, host }: Task,
  { code, why }: { code: FailureCode; why: string },
): CodedError {
  if (code === 'cancelled') return new CodedError('tier/cancelled', `Cannot ${act}: it was cancelled`);
  if (code === 'denied')
    return new CodedError('oci/not-allowed', `Cannot ${act}: ${host} cannot be used. ${why}`);
  return failed({ act, host }, why);
}

export function failed({ act, host }: Pick<Task, 'act' | 'host'>, why: string, remedy?: string): CodedError {
  const sentence = why.charAt(0).toUpperCase() + why.slice(1);
  return new CodedError('oci/failed', `Cannot ${act}: ${host} gave no usable answer. ${sentence}`, {
    remedy,
  });
}

/** The registry, or what is on the way to it, is lying or broken. */
export function mismatched(act: string, is: string, expected: string): CodedError {
  return new CodedError('oci/mismatch', `Cannot ${act}: ${is}, expected ${expected}`);
}

/** The failure that a status means. */
export function refusedWith(task: Task, answer: Answer, isLoggedIn: boolean): CodedError {
  const { act, host, secret } = task;
  const { status } = answer;
  const said = `it answers with status ${status}${codesOf(answer)}`;
  const logIn = `Set ${isLoggedIn ? 'another' : 'the'} log-in with \`palisade secrets set ${secret}\` (as USER:PASSWORD), or give it with --login.`;
  if (status === 401 || status === 403) {
    const is = isLoggedIn ? `${host} refuses the log-in` : `${host} requires a log-in`;
    const expected = isLoggedIn ? 'one that permits this' : 'one of yours';
    const message = `Cannot ${act}: ${is} (${said}), expected ${expected}`;
    return new CodedError('oci/denied', message, { remedy: logIn });
  }
  if (status === 404) {
    const remedy = `Check the spelling; \`palisade skill search ${host}\` lists what is there.${isLoggedIn ? '' : ` A registry may hide what needs a log-in: \`palisade secrets set ${secret}\`.`}`;
    return new CodedError('oci/unknown', `Cannot ${act}: ${host} does not have it (${said})`, { remedy });
  }
  if (status === 429) {
    const after = retryAfterOf(answer, 0);
    const remedy = after === null ? 'Try again later.' : `Try again in ${Math.ceil(after / 1000)} seconds.`;
    return failed(task, `It limits the number of requests (${said}).`, remedy);
  }
  return failed(task, `Cannot use the answer: ${said}, expected that it is done`);
}

/** The codes of a problem, of which the specification has a closed set. */
function codesOf({ body }: Answer): string {
  const limits = { maxBytes: OCI_LIMITS.noteBytes, maxDepth: 16 };
  const read = body.length === 0 ? null : readJson(body, limits, PROBLEMS);
  const codes = read?.ok === true ? read.value.errors.map(({ code }) => code) : [];
  const known = codes.filter((code) => PROBLEM_CODE.test(code)).slice(0, 3);
  return known.length === 0 ? '' : ` and ${known.join(', ')}`;
}

/** How long to wait before the same request, in milliseconds; null where the answer does not say. */
export function retryAfterOf(answer: Answer, nowMs: number): number | null {
  const [value = ''] = valuesOf(answer, 'retry-after');
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000;
  const at = nowMs === 0 ? Number.NaN : Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

/** All values of a header of an answer. */
export function valuesOf({ headers }: Answer, name: string): readonly string[] {
  return headers.filter(([each]) => each === name).map(([, value]) => value);
}
