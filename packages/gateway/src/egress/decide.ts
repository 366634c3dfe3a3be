import { type Address, formatAddress } from './address.ts';
import { isInside } from './address-range.ts';
import { type AllowList, rulesFor } from './allowlist.ts';
import { formatAuthority, type Host } from './authority.ts';
import { type Asked, type Misfit, newMisfit } from './misfit.ts';
import { quote } from './parsed.ts';
import type { Rule } from './rule.ts';
import { carriedBy, type Special, specialRange } from './special.ts';

/*
 * Decides whether a request may leave, from the list and the request alone. A denying entry beats every allowing one, and
 * the order of entries means nothing. What is not known of a request (the path inside a tunnel, say) counts against it:
 * an allowing entry that asks for it does not fit, a denying one does. A special address needs an allowing entry that
 * names it: the address, or a range that lies inside the special one. So a wide range opens nothing by accident, the
 * metadata service stays closed inside an open link-local range, and the entry of a name opens no special address.
 */

export type EgressRequest = Asked & { readonly host: Host };

export type Allowance = { readonly verdict: 'allow'; readonly rule: string; readonly why: string };
/** The rule is the denying entry; null when there was none and nothing allowed the request either. */
export type Denial = { readonly verdict: 'deny'; readonly rule: string | null; readonly why: string };
export type Decision = Allowance | Denial;

/** Decides on a request before anything is looked up. */
export function decide(list: AllowList, request: EgressRequest): Decision {
  const { host } = request;
  const rules = rulesFor(list, host);
  const misfit = newMisfit(request);
  const carried = host.kind === 'name' ? [] : rulesForCarried(list, host.address);
  const denying = findDenying(rules, misfit) ?? findDenying(carried, misfit);
  if (denying !== undefined) return denyBy(denying, request);
  const allowing = rules.filter((rule) => !rule.denies);
  const fitting = allowing.filter((rule) => misfit(rule) === null);
  const [rule] = fitting;
  if (rule === undefined) return deny(request, whyNoneFits(allowing, misfit));
  const special = host.kind === 'name' ? null : specialRange(host.address, []);
  if (special === null) return allowBy(rule);
  const naming = findNaming(fitting, special);
  return naming === undefined ? deny(request, whySpecial(special)) : allowBy(naming);
}

/**
 * What speaks against an address that the host of an allowed request is or was found to have; null when nothing does.
 * A denying entry for the address counts, and an address that is special or the machine's own needs one that names it.
 */
export function denyAddress(
  list: AllowList,
  request: EgressRequest,
  address: Address,
  own: readonly Address[],
): Denial | null {
  const rules = rulesFor(list, { kind: 'address', address });
  const misfit = newMisfit(request);
  const denying = findDenying(rules, misfit) ?? findDenying(rulesForCarried(list, address), misfit);
  if (denying !== undefined) return denyBy(denying, request, address);
  const special = specialRange(address, own);
  if (special === null) return null;
  const fitting = rules.filter((rule) => !rule.denies && misfit(rule) === null);
  return findNaming(fitting, special) === undefined ? deny(request, whySpecial(special), address) : null;
}

function findDenying(rules: readonly Rule[], misfit: Misfit): Rule | undefined {
  return rules.find((rule) => rule.denies && misfit(rule) === null);
}

/** Boundary: a denied IPv4 address is denied in the IPv6 forms that lead to it as well. */
function rulesForCarried(list: AllowList, address: Address): readonly Rule[] {
  return carriedBy(address).flatMap((inner) => rulesFor(list, { kind: 'address', address: inner }));
}

function findNaming(fitting: readonly Rule[], special: Special): Rule | undefined {
  return fitting.find(({ place }) => place.kind === 'range' && isInside(place.range, special.range));
}

function whyNoneFits([near]: readonly Rule[], misfit: Misfit): string {
  if (near === undefined) return 'no entry of the allow-list has this host, expected one that does';
  return `its ${misfit(near)} is not allowed by the entry ${quote(near.entry)}, expected an entry that allows it`;
}

function whySpecial({ sentence }: Special): string {
  return `it is ${sentence}, expected an entry that names it`;
}

function allowBy({ entry }: Rule): Allowance {
  return { verdict: 'allow', rule: entry, why: `the entry ${quote(entry)} allows it` };
}

function denyBy({ entry }: Rule, request: EgressRequest, address?: Address): Denial {
  return { ...deny(request, `the entry ${quote(entry)} denies it`, address), rule: entry };
}

function deny({ host, port }: EgressRequest, is: string, address?: Address): Denial {
  const target = quote(formatAuthority(host, port));
  const at = address === undefined || host.kind === 'address' ? '' : ` at ${quote(formatAddress(address))}`;
  return { verdict: 'deny', rule: null, why: `Cannot reach ${target}${at}: ${is}` };
}
