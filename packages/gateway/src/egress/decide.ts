import { quote } from '../core/hostile-text.ts';
import { sentenceOf } from '../core/result.ts';
import { type Address, carriedBy, formatAddress, isInside, type Special, specialRange } from './address.ts';
import { type AllowList, rulesByPattern, rulesFor } from './allowlist.ts';
import { DEFAULT_PORTS, formatAuthority, formatHost, type Host, parseHost, type Site } from './authority.ts';
import type { Own } from './resolve.ts';
import type { Rule } from './rule.ts';
import {
  firstFit,
  type NormalizedRequest,
  normalizeRequest,
  type RequestDetails,
  type RuleGroup,
  type Term,
  unmetTerm,
} from './rule-set.ts';

/*
 * Decides whether a request may leave, from the list and the request alone. A denying entry beats every allowing one,
 * and the order of entries means nothing. What is not known of a request (the path inside a tunnel, say) counts against
 * it: an allowing entry that depends on it does not match, a denying one does. A special address needs an allowing
 * entry that names it: the address, or a range inside the special one. So a wide range opens nothing by accident, the
 * metadata service stays closed inside an open link-local range, and the entry of a name opens no special address.
 */

export type EgressRequest = RequestDetails & { readonly host: Host };

type Allowance = { readonly verdict: 'allow'; readonly rule: string; readonly why: string };
/** The rule is the denying entry; null when nothing denied or allowed the request. */
export type Denial = { readonly verdict: 'deny'; readonly rule: string | null; readonly why: string };
export type EgressDecision = Allowance | Denial;

/** A decision on one request, as it is recorded. */
export type DecidedRequest = Pick<EgressDecision, 'verdict' | 'rule' | 'why'> & {
  readonly atMs: number;
  readonly host: string;
  readonly port: number;
  /** The one that a connection was made to; null when none was. */
  readonly address: string | null;
  readonly method: string;
  /** The names of the secrets that were filled in; never their values. */
  readonly secrets: readonly string[];
};

/** Decides on a request before anything is looked up. */
export function decide(list: AllowList, request: EgressRequest): EgressDecision {
  const decision = decideAlone(list, request);
  if (list.narrowedBy === null || (decision.verdict === 'deny' && decision.rule !== null)) return decision;
  // Boundary: what one of two lists denies is denied. Where both do, the second is named: it is the operator's.
  const second = decide(list.narrowedBy, request);
  return second.verdict === 'deny' ? second : decision;
}

function decideAlone(list: AllowList, request: EgressRequest): EgressDecision {
  const { host } = request;
  const groups = rulesByPattern(list, host);
  const normalized = normalizeRequest(request);
  const denying = findDenying(groups, normalized) ?? findDenying(carriedGroups(list, host), normalized);
  if (denying !== undefined) return denyBy(list, denying, request);
  const allowing = findAllowing(groups, normalized);
  if (allowing === undefined) return deny(request, whyNoneFits(list, groups, request));
  const special = host.kind === 'name' ? null : specialRange(host.address, []);
  if (special === null) return allowBy(allowing);
  const naming = findNaming(groups, normalized, special);
  return naming === undefined
    ? deny(request, whySpecial(special, formatAuthority(host, request.port)))
    : allowBy(naming);
}

/**
 * Why an address is denied that the host of an allowed request is or was found to have; null when it is not. A denying
 * entry for the address counts, and an address that is special or the machine's own needs one that names it.
 */
export function denyAddress(
  list: AllowList,
  request: EgressRequest,
  address: Address,
  own: readonly Address[],
): Denial | null {
  const denial = denyAddressAlone(list, request, address, own);
  if (denial !== null || list.narrowedBy === null) return denial;
  return denyAddress(list.narrowedBy, request, address, own);
}

function denyAddressAlone(
  list: AllowList,
  request: EgressRequest,
  address: Address,
  own: readonly Address[],
): Denial | null {
  const host: Host = { kind: 'address', address };
  const groups = rulesByPattern(list, host);
  const normalized = normalizeRequest(request);
  const denying = findDenying(groups, normalized) ?? findDenying(carriedGroups(list, host), normalized);
  if (denying !== undefined) return denyBy(list, denying, request, address);
  const special = specialRange(address, own);
  if (special === null || findNaming(groups, normalized, special) !== undefined) return null;
  return deny(request, whySpecial(special, formatAuthority(host, request.port)), address);
}

/** Boundary: a denied IPv4 address is denied in the IPv6 forms that lead to it as well. */
function carriedGroups(list: AllowList, host: Host): readonly RuleGroup[] {
  if (host.kind === 'name') return [];
  return carriedBy(host.address).flatMap((address) => rulesByPattern(list, { kind: 'address', address }));
}

function findDenying(groups: readonly RuleGroup[], normalized: NormalizedRequest): Rule | undefined {
  return firstOf(groups, ({ denying }) => firstFit(denying, normalized));
}

function findAllowing(groups: readonly RuleGroup[], normalized: NormalizedRequest): Rule | undefined {
  return firstOf(groups, ({ allowing }) => firstFit(allowing, normalized));
}

function findNaming(
  groups: readonly RuleGroup[],
  normalized: NormalizedRequest,
  special: Special,
): Rule | undefined {
  return findAllowing(
    groups.filter(({ place }) => place.kind === 'range' && isInside(place.range, special.range)),
    normalized,
  );
}

function firstOf(
  groups: readonly RuleGroup[],
  find: (group: RuleGroup) => Rule | undefined,
): Rule | undefined {
  for (const group of groups) {
    const rule = find(group);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

function whyNoneFits({ source }: AllowList, groups: readonly RuleGroup[], request: EgressRequest): string {
  const target = quote(formatAuthority(request.host, request.port));
  const near = firstOf(groups, ({ allowing }) => allowing.rules[0]);
  if (near === undefined) return `no entry of ${source} has this host, expected one such as ${target}`;
  const normalized = normalizeRequest(request);
  const term = unmetTerm(near, normalized) ?? 'port';
  const entry = quote(near.entry);
  const override = request.overrides?.find((each) => each.term === term);
  if (override !== undefined)
    return `the entry ${entry} requires its ${term}, which its ${override.by} may override, expected a request without that`;
  if (!isUnseen(term, normalized))
    return `its ${term} is not allowed by the entry ${entry}, expected an entry of ${source} that allows it`;
  const opened = `${quote(formatHost(request.host))} in process.egress_intercept`;
  return `the entry ${entry} requires its ${term}, which no one sees in a tunnel, expected the entry ${target}, or ${opened}`;
}

/** What goes through a tunnel is not known, unless it is opened. */
function isUnseen(term: Term, { scheme, method, path }: NormalizedRequest): boolean {
  if (term === 'scheme') return scheme === undefined;
  if (term === 'method') return method === undefined;
  return term === 'path' && method === undefined && path() === null;
}

function whySpecial({ sentence }: Special, target: string): string {
  return `it is ${sentence}, expected an entry that names it, such as ${quote(target)}`;
}

function allowBy({ entry }: Rule): Allowance {
  return { verdict: 'allow', rule: entry, why: `the entry ${quote(entry)} allows it` };
}

function denyBy({ source }: AllowList, { entry }: Rule, request: EgressRequest, address?: Address): Denial {
  const is = `the entry ${quote(entry)} denies it, expected no such entry in ${source}`;
  return { ...deny(request, is, address), rule: entry };
}

function deny({ host, port }: EgressRequest, is: string, address?: Address): Denial {
  const target = quote(formatAuthority(host, port));
  const at = address === undefined || host.kind === 'address' ? '' : ` at ${quote(formatAddress(address))}`;
  return { verdict: 'deny', rule: null, why: `Cannot reach ${target}${at}: ${is}` };
}

/** What decides on a request at any moment. */
export type Judge = {
  /** The list of this moment. */
  readonly list: () => AllowList;
  readonly resolve: { readonly own: Own };
};

/**
 * Why an allowed request, or its address, is denied now; null when it is not. Boundary: a changed list also applies to
 * what was decided on before.
 */
export function denyNow(
  { list, resolve }: Judge,
  asked: EgressRequest,
  address: Address | null,
): Denial | null {
  const now = list();
  const decision = decide(now, asked);
  if (decision.verdict === 'deny') return decision;
  return address === null ? null : denyAddress(now, asked, address, resolve.own.addresses);
}

/**
 * Why a host that an argument names cannot be reached; null if some request to it could be allowed. It is only a check
 * before the start: what the program will request is unknown, so every entry for the host is tried with what that entry
 * itself names.
 */
export function denyHost(list: AllowList, raw: string): string | null {
  const host = parseHost(raw);
  // Boundary: what cannot be read here may be read by the program as anything.
  if (!host.ok) return sentenceOf(host.problem);
  const allowing = rulesFor(list, host.value).filter(({ denies }) => !denies);
  const tried = allowing.flatMap((rule) =>
    portsOf(rule).map((port) => decide(list, { ...askedBy(rule), host: host.value, port })),
  );
  if (tried.some(({ verdict }) => verdict === 'allow')) return null;
  return (
    tried[0]?.why ??
    `Cannot reach ${quote(raw)}: no entry of ${list.source} has this host, expected one such as ${quote(raw)}`
  );
}

function portsOf({ ports }: Rule): readonly number[] {
  return ports ?? Object.values(DEFAULT_PORTS);
}

function askedBy({ scheme, methods, path }: Rule) {
  return {
    ...(scheme === null ? {} : { scheme }),
    ...(methods === null ? {} : { method: methods[0] }),
    ...(path === null ? {} : { path }),
  };
}

/**
 * Why every request to a site is denied; null when some request could be allowed. It may be too permissive, since the
 * actual request is decided on later.
 */
export function denySite(list: AllowList, site: Site): Denial | null {
  const decision = decide(list, site);
  return decision.verdict === 'allow' || couldAllow(list, site) ? null : decision;
}

/**
 * Whether an entry is for unencrypted HTTP at this site and nothing else there. Without such an entry, a client that
 * requests a tunnel hardly means HTTP, and the refusal of the tunnel tells it more than a cut inside would.
 */
export function namesHttp(list: AllowList, site: Site): boolean {
  const isNamed = rulesFor(list, site.host).some(
    ({ denies, scheme, ports }) => !denies && scheme === 'http' && ports?.includes(site.port) === true,
  );
  return isNamed || (list.narrowedBy !== null && namesHttp(list.narrowedBy, site));
}

function couldAllow(list: AllowList, site: Site): boolean {
  const rules = rulesFor(list, site.host).filter((rule) => couldMean(rule, site));
  const isDenied = rules.some(({ denies, methods, path }) => denies && methods === null && path === null);
  if (isDenied || rules.every(({ denies }) => denies)) return false;
  return list.narrowedBy === null || couldAllow(list.narrowedBy, site);
}

function couldMean({ ports, scheme }: Rule, site: Site): boolean {
  return (ports === null || ports.includes(site.port)) && (scheme === null || scheme === site.scheme);
}
