import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { type AllowList, parseAllowList, rulesFor } from '../egress/allowlist.ts';
import type { Host } from '../egress/authority.ts';
import { type HostSet, newHostSet } from '../egress/host-set.ts';
import { DEFAULT_PORTS } from '../egress/http-url.ts';
import { parseRule, type Rule } from '../egress/rule.ts';

/** Boundary: one entry that cannot be read makes the whole list useless, because what it was meant to say is not known. */
export function allowListOf(entries: readonly string[], key = 'process.egress_hosts'): AllowList {
  const parsed = parseAllowList(entries);
  if (parsed.ok) return parsed.list;
  const [first] = parsed.problems;
  throw invalid(key, first?.why ?? 'it cannot be read');
}

/** The hosts whose TLS is opened, on every port. They have names; an address is never opened. */
export function interceptedBy(entries: readonly string[]): HostSet {
  const key = 'process.egress_intercept';
  allowListOf(entries, key);
  const isName = (rule: Rule) => isPlace(rule) && !namesPort(rule) && rule.place.kind !== 'range';
  demandEach(entries, key, isName, 'the name of a host alone');
  return newHostSet(entries);
}

/** The hosts and ports that a secret is for. */
export function boundTo(entries: readonly string[], key: string): (host: Host, port: number) => boolean {
  const list = allowListOf(entries, key);
  demandEach(entries, key, isPlace, 'a host, with or without a port');
  return (host, port) => rulesFor(list, host).some((rule) => isOn(rule, port));
}

/** Boundary: an entry without a port is that of TLS alone: on its way to port 80 the value would be anybody's to read. */
function isOn(rule: Rule, port: number): boolean {
  return namesPort(rule) ? rule.ports?.includes(port) === true : port === DEFAULT_PORTS.https;
}

function demandEach(
  entries: readonly string[],
  key: string,
  isFit: (rule: Rule) => boolean,
  expected: string,
): void {
  const odd = entries.find((entry) => {
    const rule = parseRule(entry);
    return !rule.ok || !isFit(rule.value);
  });
  if (odd === undefined) return;
  throw invalid(key, `Cannot use entry ${quote(odd)}: it says something else, expected ${expected}`);
}

function isPlace({ denies, scheme, methods, path }: Rule): boolean {
  return !denies && scheme === null && methods === null && path === null;
}

/** Those of an entry without a port are several. */
function namesPort({ ports }: Rule): boolean {
  return ports?.length === 1;
}

function invalid(key: string, why: string): CodedError {
  return new CodedError('config/invalid', `${key}: ${why}`);
}
