/** A gateway that fetches, its name server and its targets, all on loopback. Everything ends with the test. */
import type { SecureContextOptions } from 'node:tls';
import { fetchFor } from '../../../src/egress/fetch/fetch.ts';
import type { FetchDecision, FetchOutcome, FetchTerms } from '../../../src/egress/fetch/outcome.ts';
import type { FetchRequest } from '../../../src/egress/fetch/request.ts';
import type { FetchLimits } from '../../../src/egress/limits.ts';
import type { Lookup, Own } from '../../../src/egress/resolve.ts';
import type { BoundSecret } from '../../../src/egress/secrets.ts';
import { allowing, NAME, startAnswering, startTarget } from '../proxy/world.ts';
import { listOf } from '../sample.ts';

type Answers = readonly string[] | (() => Promise<readonly string[]>);

export type WorldTerms = {
  readonly entries?: readonly string[];
  /** By name; what is missing is not found, and a function is asked each time. */
  readonly answers?: Readonly<Record<string, Answers>>;
  readonly limits?: Partial<FetchLimits>;
  readonly secrets?: readonly BoundSecret[];
  readonly own?: Partial<Own>;
  readonly trust?: SecureContextOptions['ca'];
  readonly signal?: AbortSignal;
  readonly onDecision?: NonNullable<FetchTerms['onDecision']>;
};

/** Opens a way out. What it asks of the name server and what it decides can be seen. */
export function openWorld({ entries = [], answers = {}, own = {}, ...terms }: WorldTerms) {
  const asked: string[] = [];
  const decisions: FetchDecision[] = [];
  const state = { list: listOf(...entries) };
  const lookup: Lookup = async (name) => {
    asked.push(name);
    const answer = answers[name] ?? [];
    return typeof answer === 'function' ? answer() : answer;
  };
  const get = (url: string, request: Partial<FetchRequest> = {}, more: Partial<FetchTerms> = {}) =>
    fetchFor(
      { url, method: 'GET', headers: [], body: null, ...request },
      {
        list: () => state.list,
        resolve: { lookup, own: { addresses: [], ports: new Set(), ...own }, lookupMs: 5_000 },
        signal: new AbortController().signal,
        clock: { nowMs: () => 1_000, monotonicMs: () => 0 },
        onDecision: (record) => decisions.push(record),
        ...terms,
        ...more,
      },
    );
  const setList = (...entriesNow: string[]) => {
    state.list = listOf(...entriesNow);
  };
  return { get, asked, decisions, setList };
}

export const LOOPBACK = { [NAME]: ['127.0.0.1'] };

/** A target with this answer, and a world that allows it. */
export async function openBoth(answer: string | Buffer, terms: WorldTerms = {}) {
  const target =
    typeof answer === 'string' ? await startAnswering(answer) : await startAnsweringBytes(answer);
  const world = openWorld({
    answers: LOOPBACK,
    ...terms,
    entries: [...allowing(NAME, target.port), ...(terms.entries ?? [])],
  });
  return { ...world, target, url: `http://${NAME}:${target.port}/` };
}

function startAnsweringBytes(answer: Buffer) {
  return startTarget((socket, received) => {
    socket.on('data', () => {
      if (received().includes('\r\n\r\n')) socket.end(answer);
    });
  });
}

/** A redirect to there. */
export function redirectTo(location: string, status = 302): string {
  return `HTTP/1.1 ${status} Elsewhere\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`;
}

export function textOf(outcome: FetchOutcome): string {
  return outcome.ok ? Buffer.from(outcome.body).toString('latin1') : `${outcome.code}: ${outcome.why}`;
}

export function codeOf(outcome: FetchOutcome): string {
  return outcome.ok ? 'ok' : outcome.code;
}
