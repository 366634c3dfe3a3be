import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { accept, type Result, reject, sentenceOf } from '../core/result.ts';
import { type AllowList, parseAllowList, rulesFor } from '../egress/allowlist.ts';
import type { Host } from '../egress/authority.ts';
import { type HostSet, newHostSet } from '../egress/host-set.ts';
import { DEFAULT_PORTS } from '../egress/http-url.ts';
import { parseRule, type Rule } from '../egress/rule.ts';

/** Boundary: one entry that cannot be read makes the whole list useless, because what it was meant to say is not known. */
export function allowListOf(entries: readonly string[], key = 'process.egress_hosts'): AllowList {
  return demand(key, readList(entries));
}

/** The hosts whose TLS is opened, on every port. They have names; an address is never opened. */
export function interceptedBy(entries: readonly string[]): HostSet {
  const isName = (rule: Rule) => isHostAlone(rule) && !namesPort(rule) && rule.place.kind !== 'range';
  demand('process.egress_intercept', readList(entries, isName, 'the name of a host alone'));
  return newHostSet(entries);
}

/** Tells whether a secret may go to a port of a host. */
export type SecretHosts = (host: Host, port: number) => boolean;

/** The hosts and ports that a secret is for; throws a CodedError that names the key for entries that cannot be read. */
export function boundTo(entries: readonly string[], key: string): SecretHosts {
  return demand(key, parseSecretHosts(entries));
}

export function parseSecretHosts(entries: readonly string[]): Result<SecretHosts> {
  const list = readList(entries, isHostAlone, 'a host, with or without a port');
  if (!list.ok) return list;
  return accept((host, port) => rulesFor(list.value, host).some((rule) => isOn(rule, port)));
}

/** Boundary: an entry without a port is that of TLS alone: on its way to port 80 the value would be anybody's to read. */
function isOn(rule: Rule, port: number): boolean {
  return namesPort(rule) ? rule.ports?.includes(port) === true : port === DEFAULT_PORTS.https;
}

/** Reads a list whose every entry has to be of one kind. */
function readList(
  entries: readonly string[],
  isFit: (rule: Rule) => boolean = () => true,
  expected = '',
): Result<AllowList> {
  const list = parseAllowList(entries);
  if (!list.ok) return reject(list.problem[0]);
  const unfit = entries.find((entry) => {
    const rule = parseRule(entry);
    return !rule.ok || !isFit(rule.value);
  });
  if (unfit === undefined) return list;
  return reject({ subject: `entry ${quote(unfit)}`, is: 'it says more than that', expected });
}

function isHostAlone({ denies, scheme, methods, path }: Rule): boolean {
  return !denies && scheme === null && methods === null && path === null;
}

/** Those of an entry without a port are several. */
function namesPort({ ports }: Rule): boolean {
  return ports?.length === 1;
}

function demand<T>(key: string, result: Result<T>): T {
  if (result.ok) return result.value;
  throw new CodedError('config/invalid', `${key}: ${sentenceOf(result.problem)}`);
}
