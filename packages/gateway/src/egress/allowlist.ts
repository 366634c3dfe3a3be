import type { Address } from './address.ts';
import { widthOf } from './address-range.ts';
import type { Host } from './authority.ts';
import { EGRESS_LIMITS } from './limits.ts';
import { quote } from './parsed.ts';
import { parseRule, type Rule } from './rule.ts';

/** The rules of a run, sorted so that the order of the entries never matters, and laid out to be found by host. */
export type AllowList = {
  readonly entries: readonly string[];
  readonly byName: ReadonlyMap<string, readonly Rule[]>;
  /** By the name that a wildcard has behind `*.`. */
  readonly belowName: ReadonlyMap<string, readonly Rule[]>;
  readonly byPrefix: readonly Shelf[];
};

/** The ranges of one prefix length, by the bits of their prefix. */
type Shelf = {
  readonly family: 4 | 6;
  /** The bits behind the prefix. */
  readonly shift: bigint;
  readonly rules: ReadonlyMap<bigint, readonly Rule[]>;
};

export type EntryProblem = { readonly entry: string; readonly why: string };

export type ParsedAllowList =
  | { readonly ok: true; readonly list: AllowList }
  | { readonly ok: false; readonly problems: readonly EntryProblem[] };

/** The list that lets nothing through. */
export const NOWHERE: AllowList = layOut([]);

/** Reads a whole list. One malformed entry makes all of it useless, because what it was meant to deny is not known. */
export function parseAllowList(raw: unknown): ParsedAllowList {
  // Boundary: a list that is missing or of another type is a mistake of the operator, never "no restriction".
  if (!Array.isArray(raw)) return refuseList(raw, 'it is no list');
  if (raw.length > EGRESS_LIMITS.entries) return refuseList(raw.length, `it has ${raw.length} entries`);
  const rules: Rule[] = [];
  const problems: EntryProblem[] = [];
  for (const each of new Set<unknown>(raw)) {
    if (typeof each !== 'string') return refuseList(each, 'an entry is no text');
    const rule = parseRule(each);
    if (rule.ok) rules.push(rule.value);
    else problems.push({ entry: each, why: rule.why });
  }
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, EGRESS_LIMITS.problems) };
  return { ok: true, list: layOut(rules) };
}

function refuseList(raw: unknown, is: string): ParsedAllowList {
  const why = `Cannot use allow-list: ${is}, expected a list of at most ${EGRESS_LIMITS.entries} texts`;
  return { ok: false, problems: [{ entry: quote(String(raw)), why }] };
}

function layOut(unsorted: readonly Rule[]): AllowList {
  const rules = unsorted.toSorted((a, b) => (a.entry < b.entry ? -1 : 1));
  const byName = new Map<string, Rule[]>();
  const belowName = new Map<string, Rule[]>();
  const shelves = new Map<string, Shelf & { readonly rules: Map<bigint, Rule[]> }>();
  for (const rule of rules) {
    const { place } = rule;
    if (place.kind === 'name') put(byName, place.name, rule);
    else if (place.kind === 'below') put(belowName, place.name, rule);
    else {
      const { family, bits, first } = place.range;
      const shift = BigInt(widthOf(family) - bits);
      const shelf = shelves.get(`${family}/${bits}`) ?? { family, shift, rules: new Map() };
      shelves.set(`${family}/${bits}`, shelf);
      put(shelf.rules, first >> shift, rule);
    }
  }
  return { entries: rules.map(({ entry }) => entry), byName, belowName, byPrefix: [...shelves.values()] };
}

function put<Key>(map: Map<Key, Rule[]>, key: Key, rule: Rule): void {
  const rules = map.get(key);
  if (rules === undefined) map.set(key, [rule]);
  else rules.push(rule);
}

/** Every rule that means the host, in the order of their texts within each kind. */
export function rulesFor(list: AllowList, host: Host): readonly Rule[] {
  return host.kind === 'name' ? rulesForName(list, host.name) : rulesForAddress(list, host.address);
}

function rulesForName({ byName, belowName }: AllowList, name: string): readonly Rule[] {
  const found = [...(byName.get(name) ?? [])];
  if (belowName.size === 0) return found;
  // Boundary: a wildcard is looked up at the dots of the name, so "evilexample.com" is never below "example.com".
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    found.push(...(belowName.get(name.slice(dot + 1)) ?? []));
  }
  return found;
}

function rulesForAddress({ byPrefix }: AllowList, address: Address): readonly Rule[] {
  const found: Rule[] = [];
  for (const { family, shift, rules } of byPrefix) {
    if (family === address.family) found.push(...(rules.get(address.value >> shift) ?? []));
  }
  return found;
}
