import type { Host } from './authority.ts';
import { parsePlace } from './place.ts';

/** Tells whether a host is one of a set, or, where that is asked, whether any host below its name is. */
export type HostSet = (host: Host, orAnyBelow?: boolean) => boolean;

/** The set of names and wildcards such as "example.com" and "*.example.com"; other entries mean nobody. */
export function newHostSet(entries: readonly string[]): HostSet {
  const places = entries.flatMap((entry) => {
    const place = parsePlace(entry, null);
    return place.ok && place.value.kind !== 'range' ? [place.value] : [];
  });
  return (host, orAnyBelow = false) =>
    host.kind === 'name' &&
    places.some(({ kind, name }) =>
      kind === 'name'
        ? host.name === name || (orAnyBelow && isBelow(name, host.name))
        : isBelow(host.name, name) || (orAnyBelow && (name === host.name || isBelow(name, host.name))),
    );
}

function isBelow(name: string, above: string): boolean {
  return name.endsWith(`.${above}`);
}
