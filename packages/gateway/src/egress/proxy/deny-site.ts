import { type AllowList, rulesFor } from '../allowlist.ts';
import { type Denial, decide } from '../decide.ts';
import type { Site } from '../http-url.ts';
import type { Rule } from '../rule.ts';

/**
 * What speaks against every request to a site; null when some request could be allowed. It may be too kind, since what
 * is asked for in the end is decided on in the end.
 */
export function denySite(list: AllowList, site: Site): Denial | null {
  const decision = decide(list, site);
  return decision.verdict === 'allow' || couldAllow(list, site) ? null : decision;
}

/**
 * Whether an entry is for HTTP in the open at this site and nothing else there. Where none is, a client that asks for a
 * tunnel hardly means HTTP, and the refusal of the tunnel tells it more than a cut inside would.
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
