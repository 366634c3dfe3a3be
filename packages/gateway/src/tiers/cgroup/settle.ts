import type { Controller } from './controllers.table.ts';
import { enableLimits } from './enable-limits.ts';
import { type CgroupLayout, type Hierarchy, NEEDED_CONTROLLERS } from './find-cgroups.ts';
import { FIXES } from './fixes.table.ts';
import type { Place } from './part.ts';
import { ownDirectory, type Refused, type Settler, tryPlaces } from './try-place.ts';

/*
 * Decides where groups of runs are made, by making one. Version 1: at the top of each tree when we may, so that the next
 * start finds what a killed one left, whatever session it is in; our own group belongs to whoever made it, who could not
 * remove it with groups of ours inside. Version 2: in our own group when it was given to us, so that the limits of the
 * service hold for its runs; else at the top, which only root can.
 */

export type Settled = { readonly ok: true; readonly places: readonly Place[] } | Refused;

type Separate = CgroupLayout & { readonly kind: 'v1' | 'hybrid' };

/** Finds a place in every tree that is needed, or says why there is none and what would make one. */
export function settle(layout: CgroupLayout, settler: Settler): Settled {
  if (layout.kind === 'none') return { ok: false, why: layout.why, fix: FIXES.unmounted };
  if (layout.kind === 'v2') return settleUnified(layout.unified, settler);
  const missing = NEEDED_CONTROLLERS.filter((name) => !layout.controllers.has(name));
  if (missing.length === 0) return settleSeparate(layout, settler);
  return { ok: false, why: `no tree has the controller ${missing.join(' and ')}`, fix: FIXES.controller };
}

function settleUnified(hierarchy: Hierarchy, settler: Settler): Settled {
  const { mount } = hierarchy;
  const controllers: Controller[] = [...NEEDED_CONTROLLERS, 'unified'];
  const directories = [ownDirectory(hierarchy, settler.prefix) ?? mount, mount];
  const places = directories.map((directory): Place => ({ version: 2, mount, directory, controllers }));
  const place = tryPlaces(places, settler, enableLimits);
  return 'why' in place ? place : { ok: true, places: [place] };
}

function settleSeparate(layout: Separate, settler: Settler): Settled {
  const places: Place[] = [];
  if (layout.kind === 'hybrid') {
    const place = fromTheTop({ version: 2, controllers: ['unified'] }, layout.unified, settler);
    // Without it the run is still limited; it is only killed one by one.
    if (!('why' in place)) places.push(place);
  }
  // The unified tree counts CPU time as well; joining one tree less is faster.
  const wanted: Controller[] =
    places.length > 0 ? [...NEEDED_CONTROLLERS] : [...NEEDED_CONTROLLERS, 'cpuacct'];
  for (const [hierarchy, controllers] of treesFor(wanted, layout)) {
    const place = fromTheTop({ version: 1, controllers }, hierarchy, settler);
    if (!('why' in place)) places.push(place);
    else if (controllers.some((name) => name !== 'cpuacct')) return place;
  }
  return { ok: true, places };
}

/** Each tree once, with the controllers that are wanted of it: several can be mounted together. */
function treesFor(wanted: readonly Controller[], { controllers }: Separate): [Hierarchy, Controller[]][] {
  const trees = new Map<string, [Hierarchy, Controller[]]>();
  for (const name of wanted) {
    const hierarchy = controllers.get(name);
    if (hierarchy === undefined) continue;
    const tree = trees.get(hierarchy.mount);
    if (tree === undefined) trees.set(hierarchy.mount, [hierarchy, [name]]);
    else tree[1].push(name);
  }
  return [...trees.values()];
}

function fromTheTop(
  tree: Pick<Place, 'version' | 'controllers'>,
  hierarchy: Hierarchy,
  settler: Settler,
): Place | Refused {
  const { mount } = hierarchy;
  const directories = [mount, ownDirectory(hierarchy, settler.prefix) ?? mount];
  return tryPlaces(
    directories.map((directory) => ({ ...tree, mount, directory })),
    settler,
    () => null,
  );
}
