import { quote } from '../core/hostile-text.ts';
import { accept, type Problem, type Result, reject } from '../core/result.ts';
import { type Address, type AddressRange, plantRanges, type RangeTree, ringAround } from './address.ts';
import type { Host } from './authority.ts';
import { EGRESS_LIMITS } from './limits.ts';
import { type HostPattern, parseRule, type Rule } from './rule.ts';
import { groupRules, type RuleGroup } from './rule-set.ts';

/** The rules of a run, sorted so that the order of the entries never matters, and laid out to be found by host. */
export type AllowList = {
  readonly entries: readonly string[];
  /** What messages call the list: the key or the flag with which it is changed. */
  readonly source: string;
  readonly byName: ReadonlyMap<string, RuleGroup>;
  /** By the name after `*.` in a wildcard. */
  readonly belowName: NameTree<RuleGroup>;
  readonly byRange: RangeTree<RuleGroup>;
  /** A second list that must also allow what this one allows; null if there is none. */
  readonly narrowedBy: AllowList | null;
};

/** The problem with one entry of a list, or with the list itself. */
type EntryProblem = Problem & { readonly entry: string };

type ParsedAllowList = Result<AllowList, readonly [EntryProblem, ...EntryProblem[]]>;

const ANY_LIST = 'the allow-list';

/** The list that lets nothing through. */
export const NOWHERE: AllowList = layOut([], ANY_LIST);

/** Reads a whole list. One malformed entry invalidates all of it, because what it was meant to deny is unknown. */
export function parseAllowList(raw: unknown, source = ANY_LIST): ParsedAllowList {
  // Boundary: a list that is missing or of another type is an error, never "no restriction".
  if (!Array.isArray(raw)) return rejectList(raw, 'it is not a list');
  if (raw.length > EGRESS_LIMITS.entries) return rejectList(raw.length, `it has ${raw.length} entries`);
  const rules: Rule[] = [];
  const problems: EntryProblem[] = [];
  for (const each of new Set<unknown>(raw)) {
    if (typeof each !== 'string') return rejectList(each, 'an entry is not a string');
    const rule = parseRule(each);
    if (rule.ok) rules.push(rule.value);
    else problems.push({ ...rule.problem, entry: each });
  }
  const [first, ...others] = problems.slice(0, EGRESS_LIMITS.problems);
  return first === undefined ? accept(layOut(rules, source)) : reject([first, ...others]);
}

function rejectList(raw: unknown, is: string): ParsedAllowList {
  const expected = `a list of at most ${EGRESS_LIMITS.entries} strings`;
  return reject([{ subject: 'allow-list', is, expected, entry: quote(String(raw)) }]);
}

function layOut(unsorted: readonly Rule[], source: string): AllowList {
  const rules = unsorted.toSorted((a, b) => (a.entry < b.entry ? -1 : 1));
  const byName = new Map<string, RuleGroup>();
  const belowName = new Map<string, RuleGroup>();
  const byRange: [AddressRange, RuleGroup][] = [];
  for (const group of groupByPattern(rules)) {
    const { place } = group;
    if (place.kind === 'name') byName.set(place.name, group);
    else if (place.kind === 'below') belowName.set(place.name, group);
    else byRange.push([place.range, group]);
  }
  const entries = rules.map(({ entry }) => entry);
  const trees = { byName, belowName: plantNames(belowName), byRange: plantRanges(byRange) };
  return { entries, source, ...trees, narrowedBy: null };
}

/** A list that allows what both allow. */
export function narrowList(list: AllowList, by: AllowList): AllowList {
  return { ...list, narrowedBy: list.narrowedBy === null ? by : narrowList(list.narrowedBy, by) };
}

function groupByPattern(rules: readonly Rule[]): readonly RuleGroup[] {
  const ofPlace = new Map<string, [Rule, ...Rule[]]>();
  for (const rule of rules) {
    const key = keyOf(rule.place);
    const others = ofPlace.get(key);
    if (others === undefined) ofPlace.set(key, [rule]);
    else others.push(rule);
  }
  return Array.from(ofPlace.values(), (group) => groupRules(group[0].place, group));
}

function keyOf(place: HostPattern): string {
  if (place.kind !== 'range') return `${place.kind} ${place.name}`;
  const { family, first, bits } = place.range;
  return `range ${family} ${first}/${bits}`;
}

/** Every rule that matches the host, in the order of `rulesByPattern` and of their texts in one group. */
export function rulesFor(list: AllowList, host: Host): readonly Rule[] {
  return rulesByPattern(list, host).flatMap(({ denying, allowing }) => [...denying.rules, ...allowing.rules]);
}

/** The places that contain the host, with the rules of each: a name before its parents, a range before those in it. */
export function rulesByPattern(list: AllowList, host: Host): readonly RuleGroup[] {
  return host.kind === 'name' ? groupsForName(list, host.name) : groupsForAddress(list, host.address);
}

function groupsForName({ byName, belowName }: AllowList, name: string): readonly RuleGroup[] {
  const exact = byName.get(name);
  const above = allAbove(belowName, name);
  return exact === undefined ? above : [exact, ...above];
}

function groupsForAddress({ byRange }: AllowList, address: Address): readonly RuleGroup[] {
  const found: RuleGroup[] = [];
  for (let ring = ringAround(byRange, address); ring !== null; ring = ring.outer) found.push(ring.item);
  return found.reverse();
}

/** Names label by label, the last label first, with what belongs to the names below each. */
type NameTree<T> = { below: T | null; readonly labels: Map<string, NameTree<T>> };

const DOT = 0x2e;

export function plantNames<T>(names: ReadonlyMap<string, T>): NameTree<T> {
  const root: NameTree<T> = { below: null, labels: new Map() };
  for (const [name, below] of names) {
    let tree = root;
    for (const label of name.split('.').toReversed()) tree = grow(tree, label);
    tree.below = below;
  }
  return root;
}

function grow<T>({ labels }: NameTree<T>, label: string): NameTree<T> {
  const known = labels.get(label);
  if (known !== undefined) return known;
  const tree = { below: null, labels: new Map() };
  labels.set(label, tree);
  return tree;
}

/** What belongs to the parents of a name, the longest first; the name itself is excluded. */
export function allAbove<T>(root: NameTree<T>, name: string): T[] {
  const found: T[] = [];
  let tree: NameTree<T> | undefined = root;
  let end = name.length;
  // Boundary: whole labels are compared, so "evilexample.com" is never below "example.com".
  for (let start = startOfLabel(name, end); start > 0; start = startOfLabel(name, end)) {
    tree = tree.labels.get(name.slice(start, end));
    if (tree === undefined) break;
    if (tree.below !== null) found.push(tree.below);
    end = start - 1;
  }
  return found.reverse();
}

/** Where the label that ends here begins. */
function startOfLabel(name: string, end: number): number {
  let start = end;
  while (start > 0 && name.charCodeAt(start - 1) !== DOT) start -= 1;
  return start;
}
