import { quote } from '../core/hostile-text.ts';
import { accept, type Problem, type Result, reject } from '../core/result.ts';
import type { Address } from './address.ts';
import { type AddressRange, plantRanges, type RangeTree, ringAround } from './address-range.ts';
import type { Host } from './authority.ts';
import { EGRESS_LIMITS } from './limits.ts';
import { type Place, parseRule, type Rule } from './rule.ts';
import { fillShelf, type Shelf } from './rule-set.ts';

/** The rules of a run, sorted so that the order of the entries never matters, and laid out to be found by host. */
export type AllowList = {
  readonly entries: readonly string[];
  readonly byName: ReadonlyMap<string, Shelf>;
  /** By the name that a wildcard has behind `*.`. */
  readonly belowName: NameTree<Shelf>;
  readonly byRange: RangeTree<Shelf>;
  /** A second list that has to allow what this one allows; null: there is none. */
  readonly narrowedBy: AllowList | null;
};

/** What is wrong with one entry of a list, or with the list itself. */
export type EntryProblem = Problem & { readonly entry: string };

export type ParsedAllowList = Result<AllowList, readonly [EntryProblem, ...EntryProblem[]]>;

/** The list that lets nothing through. */
export const NOWHERE: AllowList = layOut([]);

/** Reads a whole list. One malformed entry makes all of it useless, because what it was meant to deny is not known. */
export function parseAllowList(raw: unknown): ParsedAllowList {
  // Boundary: a list that is missing or of another type is a mistake of the operator, never "no restriction".
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
  return first === undefined ? accept(layOut(rules)) : reject([first, ...others]);
}

function rejectList(raw: unknown, is: string): ParsedAllowList {
  const expected = `a list of at most ${EGRESS_LIMITS.entries} strings`;
  return reject([{ subject: 'allow-list', is, expected, entry: quote(String(raw)) }]);
}

function layOut(unsorted: readonly Rule[]): AllowList {
  const rules = unsorted.toSorted((a, b) => (a.entry < b.entry ? -1 : 1));
  const byName = new Map<string, Shelf>();
  const belowName = new Map<string, Shelf>();
  const byRange: [AddressRange, Shelf][] = [];
  for (const shelf of shelve(rules)) {
    const { place } = shelf;
    if (place.kind === 'name') byName.set(place.name, shelf);
    else if (place.kind === 'below') belowName.set(place.name, shelf);
    else byRange.push([place.range, shelf]);
  }
  const entries = rules.map(({ entry }) => entry);
  const trees = { byName, belowName: plantNames(belowName), byRange: plantRanges(byRange) };
  return { entries, ...trees, narrowedBy: null };
}

/** A list that allows what both allow. */
export function narrowList(list: AllowList, by: AllowList): AllowList {
  return { ...list, narrowedBy: list.narrowedBy === null ? by : narrowList(list.narrowedBy, by) };
}

function shelve(rules: readonly Rule[]): readonly Shelf[] {
  const ofPlace = new Map<string, [Rule, ...Rule[]]>();
  for (const rule of rules) {
    const key = keyOf(rule.place);
    const others = ofPlace.get(key);
    if (others === undefined) ofPlace.set(key, [rule]);
    else others.push(rule);
  }
  return Array.from(ofPlace.values(), (group) => fillShelf(group[0].place, group));
}

function keyOf(place: Place): string {
  if (place.kind !== 'range') return `${place.kind} ${place.name}`;
  const { family, first, bits } = place.range;
  return `range ${family} ${first}/${bits}`;
}

/** Every rule that means the host, in the order of `shelvesFor` and of their texts on one shelf. */
export function rulesFor(list: AllowList, host: Host): readonly Rule[] {
  return shelvesFor(list, host).flatMap(({ denying, allowing }) => [...denying.rules, ...allowing.rules]);
}

/** The places that have the host, with the rules of each: a name before what it is below, a range before those in it. */
export function shelvesFor(list: AllowList, host: Host): readonly Shelf[] {
  return host.kind === 'name' ? shelvesForName(list, host.name) : shelvesForAddress(list, host.address);
}

function shelvesForName({ byName, belowName }: AllowList, name: string): readonly Shelf[] {
  const exact = byName.get(name);
  const above = allAbove(belowName, name);
  return exact === undefined ? above : [exact, ...above];
}

function shelvesForAddress({ byRange }: AllowList, address: Address): readonly Shelf[] {
  const found: Shelf[] = [];
  for (let ring = ringAround(byRange, address); ring !== null; ring = ring.outer) found.push(ring.item);
  return found.reverse();
}

/** Names label by label, the last label first, with what belongs to the names below each. */
export type NameTree<T> = { below: T | null; readonly labels: Map<string, NameTree<T>> };

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

/** What belongs to the names that a name is below, the longest one first; the name itself is not among them. */
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
