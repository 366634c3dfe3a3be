import { quote } from '../core/hostile-text.ts';
import { accept, type Problem, type Result, reject } from '../core/result.ts';
import { type Address, isSameAddress, parseAddress } from './address.ts';
import type { AllowList } from './allowlist.ts';
import { formatAuthority } from './authority.ts';
import { type Denial, decide, denyAddress, type EgressRequest } from './decide.ts';
import { type Lookup, lookUp } from './look-up.ts';
import { carriedBy, specialRange } from './special.ts';

/*
 * From a request to the addresses that it may dial. The list decides before any query leaves; the name is looked up once;
 * every answer is checked, and one that is refused refuses all, because who answers so is not to be trusted with the
 * rest. What is dialled is what was checked: nobody asks for the name again.
 */

/** What this machine is known by: its addresses, and the ports on which the gateway itself listens. */
export type Own = { readonly addresses: readonly Address[]; readonly ports: ReadonlySet<number> };

export type ResolveOptions = {
  readonly lookup: Lookup;
  readonly own: Own;
  readonly lookupMs: number;
  readonly signal: AbortSignal;
};

/** Checked addresses in the order of the answer: dial these and nothing else. */
export type Dialable = {
  readonly verdict: 'allow';
  readonly rule: string;
  readonly addresses: readonly [Address, ...Address[]];
};

/** A denial and the step that it came from. */
export type Undialable = Denial & { readonly at: 'list' | 'lookup' | 'address' };

/** What is special in a way that leads to this machine. */
const HOME: ReadonlySet<string> = new Set(['own', 'loopback', 'this-network', 'unspecified']);

/** Decides on a request and finds the addresses to dial. It never throws for what a caller or a name server sent. */
export async function resolveTarget(
  list: AllowList,
  request: EgressRequest,
  options: ResolveOptions,
): Promise<Dialable | Undialable> {
  // Boundary: a denied name is never asked for, since the question alone would carry it out.
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
    // Boundary: what cannot be checked is not dialled; a zone, say, points at an interface of this machine.
    if (address === null)
      return reject({
        subject: `host ${quote(host.name)}`,
        is: `its name resolves to ${quote(answer)}`,
        expected: 'an IP address',
      });
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
