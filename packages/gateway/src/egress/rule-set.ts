import type { Scheme } from './authority.ts';
import type { Override } from './overrides.ts';
import { type HostPattern, isBeneath, normalizePath, type Rule, widenPath } from './rule.ts';

/*
 * The rules of one place. Few are tried one by one. Many, the paths of one API say, are found by the port and then by
 * the path, segment by segment. Each candidate is still compared as a whole: the index only excludes rules that cannot
 * match.
 */

export type RuleGroup = {
  readonly place: HostPattern;
  readonly allowing: RuleList;
  readonly denying: RuleList;
};

/** Rules in the order of their texts, all allowing or all denying. */
type RuleList = { readonly rules: readonly Rule[]; readonly byPort: PortIndex | null };
/** Those for every port are under null. */
type PortIndex = Map<number | null, { readonly rules: Rule[]; readonly paths: PathTree }>;
/** The rules whose path ends here, and those whose path continues with a segment. */
type PathTree = { readonly rules: Rule[]; readonly segments: Map<string, PathTree> };

/** Up to this many are compared faster than looked up. */
const FEW = 8;

export function groupRules(place: HostPattern, rules: readonly Rule[]): RuleGroup {
  const listOf = (denies: boolean): RuleList => {
    const list = rules.filter((rule) => rule.denies === denies);
    return { rules: list, byPort: list.length > FEW ? indexRules(list) : null };
  };
  return { place, allowing: listOf(false), denying: listOf(true) };
}

function indexRules(rules: readonly Rule[]): PortIndex {
  const index: PortIndex = new Map();
  for (const rule of rules) {
    for (const port of rule.ports ?? [null]) {
      const ofPort = index.get(port) ?? { rules: [], paths: newTree() };
      index.set(port, ofPort);
      ofPort.rules.push(rule);
      placeOf(ofPort.paths, rule.path ?? '/').rules.push(rule);
    }
  }
  return index;
}

function newTree(): PathTree {
  return { rules: [], segments: new Map() };
}

function placeOf(root: PathTree, path: string): PathTree {
  let tree = root;
  // A slash at the end begins no segment: whether it matters is for the comparison to say.
  for (const segment of path.split('/').filter((each) => each !== '')) {
    const next = tree.segments.get(segment) ?? newTree();
    tree.segments.set(segment, next);
    tree = next;
  }
  return tree;
}

/** The first rule whose every term matches a request. */
export function firstFit({ rules, byPort }: RuleList, normalized: NormalizedRequest): Rule | undefined {
  if (byPort === null) return fitIn(rules, normalized);
  return first(fitOfPort(byPort, normalized.port, normalized), fitOfPort(byPort, null, normalized));
}

function fitOfPort(byPort: PortIndex, port: number | null, normalized: NormalizedRequest): Rule | undefined {
  const ofPort = byPort.get(port);
  if (ofPort === undefined) return undefined;
  const { rules, paths } = ofPort;
  if (paths.segments.size === 0) return fitIn(rules, normalized);
  const denies = rules[0]?.denies === true;
  const path = denies ? normalized.widePath() : normalized.path();
  // Boundary: a path that is not known may be any path, so no denying rule is left out.
  if (path === null) return fitIn(denies ? rules : paths.rules, normalized);
  let found: Rule | undefined;
  let tree: PathTree | undefined = paths;
  for (let start = 1; tree !== undefined; ) {
    found = first(found, fitIn(tree.rules, normalized));
    if (start >= path.length) break;
    const slash = path.indexOf('/', start);
    const end = slash < 0 ? path.length : slash;
    tree = tree.segments.get(path.slice(start, end));
    start = end + 1;
  }
  return found;
}

function fitIn(rules: readonly Rule[], normalized: NormalizedRequest): Rule | undefined {
  for (const rule of rules) if (unmetTerm(rule, normalized) === null) return rule;
  return undefined;
}

function first(a: Rule | undefined, b: Rule | undefined): Rule | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.entry < b.entry ? a : b;
}

/** A request to a host. What is left out is unknown. The path is as it was sent, with or without its query. */
export type RequestDetails = {
  readonly port: number;
  readonly scheme?: Scheme | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** What else than the method and the path a server may go by. */
  readonly overrides?: readonly Override[] | undefined;
};

/** A request in the forms that rules compare. A path is parsed only when the first rule needs it. */
export type NormalizedRequest = {
  readonly port: number;
  readonly scheme: Scheme | undefined;
  readonly method: string | undefined;
  readonly wideMethod: string | undefined;
  /** Null when it is not known, or is ambiguous. */
  readonly path: () => string | null;
  /** As a denying rule compares it. */
  readonly widePath: () => string | null;
};

export type Term = 'port' | 'scheme' | 'method' | 'path';

export function normalizeRequest({
  port,
  scheme,
  overrides = [],
  ...sent
}: RequestDetails): NormalizedRequest {
  // Boundary: a method or a path that a server may take from elsewhere is not known.
  const isSure = (term: Term) => overrides.every((each) => each.term !== term);
  const method = isSure('method') ? sent.method : undefined;
  const raw = isSure('path') ? sent.path : undefined;
  let plain: string | null | undefined;
  let wide: string | null | undefined;
  const path = () => {
    if (plain === undefined) plain = raw === undefined ? null : normalizePath(raw);
    return plain;
  };
  const widePath = () => {
    if (wide !== undefined) return wide;
    const known = path();
    wide = known === null ? null : widenPath(known);
    return wide;
  };
  return { port, scheme, method, wideMethod: method?.toUpperCase(), path, widePath };
}

/**
 * The first term of a rule that a request does not match, or null when it matches all. A term about something unknown
 * matches in a denying rule and never in an allowing one.
 */
export function unmetTerm(rule: Rule, normalized: NormalizedRequest): Term | null {
  const { denies, ports, scheme, methods, path: prefix } = rule;
  if (ports !== null && !ports.includes(normalized.port)) return 'port';
  if (scheme !== null && (normalized.scheme === undefined ? !denies : normalized.scheme !== scheme))
    return 'scheme';
  const method = denies ? normalized.wideMethod : normalized.method;
  if (methods !== null && (method === undefined ? !denies : !methods.includes(method))) return 'method';
  if (prefix === null) return null;
  const path = denies ? normalized.widePath() : normalized.path();
  // Boundary: a path that is invisible or ambiguous may be any path.
  const isMet = path === null ? denies : isBeneath(path, prefix);
  return isMet ? null : 'path';
}
