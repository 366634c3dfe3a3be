import { lookup } from 'node:dns/promises';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { rootCertificates } from 'node:tls';
import { quote } from '../core/hostile-text.ts';
import { accept, type Problem, type Result, unfit } from '../core/result.ts';
import { type Address, carriedBy, isSameAddress, parseAddress, specialRange } from './address.ts';
import type { AllowList } from './allowlist.ts';
import { formatAuthority, type HostName } from './authority.ts';
import { type Denial, decide, denyAddress, type EgressRequest } from './decide.ts';
import { EGRESS_LIMITS } from './limits.ts';

/*
 * Finds the addresses that a request may connect to. The list decides before any query leaves; the name is looked up
 * once; every answer is checked, and one that is refused refuses all, because such a name server cannot be trusted with
 * the rest. Only checked addresses are connected to: the name is not looked up again.
 */

/** The identity of this machine: its addresses, and the ports on which the gateway itself listens. */
export type Own = { readonly addresses: readonly Address[]; readonly ports: ReadonlySet<number> };

export type ResolveOptions = {
  readonly lookup: Lookup;
  readonly own: Own;
  readonly lookupMs: number;
  readonly signal: AbortSignal;
};

/** Checked addresses in the order of the answer: connect to these and nothing else. */
type Dialable = {
  readonly verdict: 'allow';
  readonly rule: string;
  readonly addresses: readonly [Address, ...Address[]];
};

type Undialable = Denial & { readonly at: 'list' | 'lookup' | 'address' };

/** What is special in a way that leads to this machine. */
const HOME: ReadonlySet<string> = new Set(['own', 'loopback', 'this-network', 'unspecified']);

/** Decides on a request and finds the addresses to connect to. It never throws for untrusted input. */
export async function resolveTarget(
  list: AllowList,
  request: EgressRequest,
  options: ResolveOptions,
): Promise<Dialable | Undialable> {
  // Boundary: a denied name is never queried, since the query alone could exfiltrate data.
  const decision = decide(list, request);
  if (decision.verdict === 'deny') return { ...decision, at: 'list' };
  const found = await addressesOf(request, options);
  if (!found.ok) return refuse(request, 'lookup', found.problem);
  const [first, ...others] = found.value;
  if (first === undefined)
    return refuse(request, 'lookup', { is: 'its name has no address', expected: 'at least one' });
  // Boundary: every answer is checked before the first is used.
  for (const address of found.value) {
    const refused = refuseAddress(list, request, address, options.own);
    if (refused !== null) return refused;
  }
  return { verdict: 'allow', rule: decision.rule, addresses: [first, ...others] };
}

async function addressesOf({ host }: EgressRequest, options: ResolveOptions): Promise<Result<Address[]>> {
  if (host.kind === 'address') return accept([host.address]);
  const answers = await lookUp(host.name, options);
  if (!answers.ok) return answers;
  const addresses: Address[] = [];
  for (const answer of answers.value) {
    const address = parseAddress(answer);
    // Boundary: what cannot be checked is not connected to; a zone, say, points at an interface of this machine.
    if (address === null) return fail(host.name, `its name resolves to ${quote(answer)}`, 'an IP address');
    if (!addresses.some((each) => isSameAddress(each, address))) addresses.push(address);
  }
  return accept(addresses);
}

function refuseAddress(
  list: AllowList,
  request: EgressRequest,
  address: Address,
  own: Own,
): Undialable | null {
  // Boundary: no entry opens the gateway's own doors to what it runs.
  if (own.ports.has(request.port) && leadsHome(address, own)) {
    return refuse(request, 'address', { is: 'it is the gateway itself', expected: 'another host' });
  }
  const denial = denyAddress(list, request, address, own.addresses);
  return denial === null ? null : { ...denial, at: 'address' };
}

function leadsHome(address: Address, { addresses }: Own): boolean {
  return [address, ...carriedBy(address)].some((each) => HOME.has(specialRange(each, addresses)?.name ?? ''));
}

function refuse(
  { host, port }: EgressRequest,
  at: Undialable['at'],
  { is, expected }: Pick<Problem, 'is' | 'expected'>,
): Undialable {
  const target = quote(formatAuthority(host, port));
  return { verdict: 'deny', at, rule: null, why: `Cannot reach ${target}: ${is}, expected ${expected}` };
}

/** Asks a name server for all addresses of a name. It should stop when the signal fires; its result is then ignored. */
export type Lookup = (name: HostName, signal: AbortSignal) => Promise<readonly string[]>;

type LookUpOptions = { readonly lookup: Lookup; readonly lookupMs: number; readonly signal: AbortSignal };

/** Looks a name up once, for a limited time, and returns a bounded number of answers or the error. */
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
    // Ends the timer and the listeners as well, and aborts a lookup that is still in progress.
    stop.abort();
  }
}

function checkAnswers(name: HostName, answers: readonly string[]): Result<readonly string[]> {
  const most = EGRESS_LIMITS.lookupAnswers;
  // Boundary: a name server decides how long an answer is; each address is checked, so there are not many.
  return answers.length > most
    ? fail(name, `its name has ${answers.length} addresses`, `at most ${most}`)
    : accept(answers);
}

function fail(name: HostName, is: string, expected: string) {
  return unfit(`host ${quote(name)}`, is, expected);
}

/** The code of a connection or lookup error. The message is left out: it could contain text from the other side. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'failed';
}

/**
 * Lets runs take turns at a lookup that cannot be cancelled: the system has a few threads for all of them, which also
 * read files. Each run has one lookup under way and the others wait, also behind those of other runs; one that was
 * abandoned in the meantime is not started.
 */
export class LookupTurns {
  readonly #lookup: Lookup;
  readonly #atOnce: number;
  /** By run, the questions that wait; the run whose turn it is comes first. */
  readonly #waiting = new Map<object, (() => Promise<void>)[]>();
  readonly #asking = new Set<object>();

  constructor(lookup: Lookup, atOnce: number) {
    this.#lookup = lookup;
    this.#atOnce = atOnce;
  }

  forRun(): Lookup {
    const run = {};
    return (name, signal) =>
      new Promise((resolve, reject) => {
        const ask = async () => {
          // Boundary: a run that is over, or no longer waits, takes no thread.
          if (signal.aborted) reject(signal.reason);
          else await this.#lookup(name, signal).then(resolve, reject);
        };
        const others = this.#waiting.get(run) ?? [];
        others.push(ask);
        this.#waiting.set(run, others);
        this.#next();
      });
  }

  #next(): void {
    for (const [run, questions] of this.#waiting) {
      if (this.#asking.size >= this.#atOnce) return;
      if (this.#asking.has(run)) continue;
      const ask = questions.shift();
      if (questions.length === 0) this.#waiting.delete(run);
      if (ask !== undefined) this.#begin(run, ask);
    }
  }

  #begin(run: object, ask: () => Promise<void>): void {
    this.#asking.add(run);
    void ask().finally(() => {
      this.#asking.delete(run);
      // It has had its turn, and goes to the end of the queue.
      const rest = this.#waiting.get(run);
      this.#waiting.delete(run);
      if (rest !== undefined) this.#waiting.set(run, rest);
      this.#next();
    });
  }
}

/** The network interfaces of a machine by their names, as the operating system lists them. */
type Interfaces = {
  readonly [name: string]: readonly Pick<NetworkInterfaceInfo, 'address'>[] | undefined;
};

/**
 * Asks the operating system for all addresses of a name, in its order, with its hosts file and its name servers. Such a
 * query cannot be cancelled: after an abort its answer is dropped.
 */
export const systemLookup: Lookup = async (name, signal) => {
  signal.throwIfAborted();
  const answers = await lookup(name, { all: true, verbatim: true });
  return answers.map(({ address }) => address);
};

/** The current identity of this machine; the interfaces are its own unless others are given. */
export function ownOf(interfaces: Interfaces | undefined, ports: Iterable<number>): Own {
  const listed = Object.values(interfaces ?? networkInterfaces()).flatMap((each) => each ?? []);
  return { addresses: listed.map(({ address }) => readOwn(address)), ports: new Set(ports) };
}

/** An address without the zone that it may have, which says on which interface it is and not where it leads. */
function readOwn(text: string): Address {
  const address = parseAddress(text.replace(/%.*$/s, ''));
  // Boundary: an address of the machine that is not recognised would be reachable from its runs.
  if (address === null)
    throw new TypeError(
      `Cannot list own addresses: ${quote(text)} is not a valid address, expected an IP address`,
    );
  return address;
}

export function nodeCertificates(): string {
  return rootCertificates.join('\n');
}
