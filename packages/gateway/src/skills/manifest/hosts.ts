import { isInside, widthOf } from '../../egress/address-range.ts';
import { DEFAULT_PORTS } from '../../egress/authority.ts';
import { type HostPattern, parseRule, type Rule } from '../../egress/rule.ts';

/** The entries that can be read. */
export function rulesOf(entries: readonly (string | null)[]): readonly Rule[] {
  return entries.flatMap((entry) => {
    const rule = entry === null ? null : parseRule(entry);
    return rule?.ok === true ? [rule.value] : [];
  });
}

/** Tells whether an entry means more than one host. */
export function isWild({ place }: Rule): boolean {
  if (place.kind !== 'range') return place.kind === 'below';
  return place.range.bits < widthOf(place.range.family);
}

/** A text that two entries have in common exactly when they mean the same. */
export function meaningOf({ place, ports, scheme, methods, path }: Rule): string {
  const where =
    place.kind === 'range' ? [place.range.family, `${place.range.first}`, place.range.bits] : [place.name];
  return JSON.stringify([place.kind, ...where, ports, scheme, methods?.toSorted() ?? null, path]);
}

/** Tells whether every host that a secret is for can be reached by some entry at the port that the secret goes to. */
export function isCovered(secretHost: Rule, allowed: readonly Rule[]): boolean {
  const { place, ports } = secretHost;
  const port = ports?.length === 1 ? ports[0] : DEFAULT_PORTS.https;
  return allowed.some(
    (rule) => hasPlace(rule.place, place) && port !== undefined && rule.ports?.includes(port) === true,
  );
}

/** Tells whether every host of the inner place is one of the outer. */
function hasPlace(outer: HostPattern, inner: HostPattern): boolean {
  if (outer.kind === 'range' || inner.kind === 'range') {
    return outer.kind === 'range' && inner.kind === 'range' && isInside(inner.range, outer.range);
  }
  // Boundary: whole labels are compared, so "evilexample.com" is never below "example.com".
  const isBelow = inner.name.endsWith(`.${outer.name}`);
  if (outer.kind === 'name') return inner.kind === 'name' && inner.name === outer.name;
  return isBelow || (inner.kind === 'below' && inner.name === outer.name);
}
