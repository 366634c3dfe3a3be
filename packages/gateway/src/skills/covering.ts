import type { AddressRange } from '../egress/address-range.ts';
import { type HostPattern, parseRule, type Rule } from '../egress/rule.ts';

/** The entry among those that are left which allows all that this one allows; null: none does by itself. */
export function coveringEntry(entry: string, left: readonly (string | null)[]): string | null {
  const inner = parseRule(entry);
  if (!inner.ok) return null;
  const covers = (other: string | null): other is string => {
    const outer = other === null ? null : parseRule(other);
    return outer?.ok === true && ruleCovers(outer.value, inner.value);
  };
  return left.find(covers) ?? null;
}

/** The prefix among those that are left which has this one beneath it, or is the same place; null: none. */
export function coveringPrefix(prefix: string, left: readonly string[]): string | null {
  const inner = bare(prefix);
  return left.find((other) => bare(other) === '' || `${inner}/`.startsWith(`${bare(other)}/`)) ?? null;
}

function bare(prefix: string): string {
  return prefix.replace(/^\/+|\/+$/g, '');
}

function ruleCovers(outer: Rule, inner: Rule): boolean {
  return (
    placeCovers(outer.place, inner.place) &&
    hasAll(outer.ports, inner.ports) &&
    hasAll(outer.methods, inner.methods) &&
    (outer.scheme === null || outer.scheme === inner.scheme) &&
    pathCovers(outer.path, inner.path)
  );
}

function hasAll<T>(outer: readonly T[] | null, inner: readonly T[] | null): boolean {
  return outer === null || (inner?.every((each) => outer.includes(each)) ?? false);
}

/** A path with a slash at its end means only what is beneath it; one without means itself as well. */
function pathCovers(outer: string | null, inner: string | null): boolean {
  if (outer === null || outer === inner) return true;
  return inner?.startsWith(outer.endsWith('/') ? outer : `${outer}/`) ?? false;
}

function placeCovers(outer: HostPattern, inner: HostPattern): boolean {
  if (outer.kind === 'range' || inner.kind === 'range')
    return outer.kind === 'range' && inner.kind === 'range' && rangeCovers(outer.range, inner.range);
  if (outer.kind === 'name') return inner.kind === 'name' && inner.name === outer.name;
  const isBelow = inner.name.endsWith(`.${outer.name}`);
  return isBelow || (inner.kind === 'below' && inner.name === outer.name);
}

function rangeCovers(outer: AddressRange, inner: AddressRange): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}
