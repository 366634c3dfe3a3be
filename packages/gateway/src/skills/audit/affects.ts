import { orElse } from '../../core/result.ts';
import type { Advisory, AffectedPackage, RangeEvent } from '../advisories.ts';
import type { ManifestComponent } from '../manifest/manifest.ts';
import { compareVersions, parseVersion } from '../semver.ts';

/** What a bill of materials or a manifest says that a skill was made of. */
export type Component = Pick<ManifestComponent, 'name' | 'version' | 'purl'>;

export type Affecting = {
  /** False: the component says too little of itself to be sure that it is this package. */
  readonly isSure: boolean;
  /** The version that fixes the vulnerability; null if none is known. */
  readonly fixed: string | null;
};

/** Whether an advisory is about a component in its version; null when it does not apply. */
export function affects(advisory: Advisory, component: Component): Affecting | null {
  if (advisory.isWithdrawn) return null;
  for (const affected of advisory.affected) {
    const isSure = isSamePackage(affected, component);
    const version =
      isSure === null ? undefined : versionsOf(component).find((each) => hasVersion(affected, each));
    if (isSure !== null && version !== undefined) return { isSure, fixed: fixOf(affected, version) };
  }
  return null;
}

/** Advisories by the names of their packages, so that each component is compared only with those that could apply. */
export function byPackage(advisories: readonly Advisory[]): (component: Component) => ReadonlySet<Advisory> {
  const known = new Map<string, Advisory[]>();
  for (const advisory of advisories)
    for (const name of new Set(advisory.affected.flatMap(namesOf))) {
      const others = known.get(name) ?? [];
      others.push(advisory);
      known.set(name, others);
    }
  return (component) => new Set(namesOf(component).flatMap((name) => known.get(name) ?? []));
}

/** The names that a package can be meant by, in one spelling for all ecosystems. */
function namesOf({ name, purl }: { readonly name: string; readonly purl: string | null }): readonly string[] {
  const named = purl === null ? null : parsePurl(purl);
  return [name, ...(named === null ? [] : [named.name, lastOf(named.name)])].map((each) =>
    each.toLowerCase().replace(/[-_.:/]+/g, '-'),
  );
}

/** What it says in two places may differ, and the worse one counts. */
function versionsOf({ version, purl }: Component): readonly string[] {
  const other = purl === null ? null : (parsePurl(purl)?.version ?? null);
  return other === null ? [version] : [version, other];
}

/** True: it is surely the package; false: by its name alone; null: it is another. */
function isSamePackage(affected: AffectedPackage, { name, purl }: Component): boolean | null {
  const is = purl === null ? null : parsePurl(purl);
  if (is === null) return isAlike(affected.name, name) ? false : null;
  const other = affected.purl === null ? null : parsePurl(affected.purl);
  if (other !== null && other.type === is.type && other.name === is.name) return true;
  const [ecosystem, spell] = ECOSYSTEMS.get(is.type) ?? [null, same];
  // A type without an ecosystem, such as generic, says nothing of whose package it is.
  if (ecosystem === null) return isAlike(affected.name, lastOf(is.name)) ? false : null;
  if (!isAlike(ecosystem, affected.ecosystem.split(':')[0] ?? '')) return null;
  return spell(affected.name) === spell(is.name) ? true : null;
}

function isAlike(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function lastOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function hasVersion({ versions, ranges, isEveryVersion }: AffectedPackage, version: string): boolean {
  if (isEveryVersion || versions.some((each) => bare(each) === bare(version))) return true;
  return ranges.some((range) => isWithin(range, version));
}

/** Walks the events in the order of their versions, as OSV has it. */
function isWithin({ events }: AffectedPackage['ranges'][number], version: string): boolean {
  const limits = events.filter(({ kind }) => kind === 'limit');
  const isBelow = limits.some((limit) => limit.version === '*' || order(version, limit.version) < 0);
  if (limits.length > 0 && !isBelow) return false;
  // A range that names no beginning starts at the first version.
  let isAffected = events.length > 0 && !events.some(({ kind }) => kind === 'introduced');
  for (const { kind, version: at } of [...events].sort(byVersion)) {
    const side = order(version, at);
    if (kind === 'introduced' && side >= 0) isAffected = true;
    if (kind === 'fixed' && side >= 0) isAffected = false;
    if (kind === 'last_affected' && side > 0) isAffected = false;
  }
  return isAffected;
}

/** The nearest version above this one that is fixed. */
function fixOf({ ranges }: AffectedPackage, version: string): string | null {
  const fixes = ranges.flatMap(({ events }) => events.filter(({ kind }) => kind === 'fixed'));
  const [next] = fixes.filter((fix) => order(fix.version, version) > 0).sort(byVersion);
  return next?.version ?? null;
}

const RANK = { introduced: 0, last_affected: 1, fixed: 2, limit: 3 } as const;

function byVersion(a: RangeEvent, b: RangeEvent): number {
  return order(a.version, b.version) || RANK[a.kind] - RANK[b.kind];
}

/** The order of two versions: by SemVer where both are, else part by part. `0` is before everything. */
export function order(a: string, b: string): number {
  if (a === b) return 0;
  if (a === '0' || b === '0') return a === '0' ? -1 : 1;
  const [first, second] = [bare(a), bare(b)];
  if (parseVersion(first) !== null && parseVersion(second) !== null) return compareVersions(first, second);
  return orderParts(partsOf(first), partsOf(second));
}

function bare(version: string): string {
  return version.slice(0, 256).replace(/^v(?=\d)/, '');
}

function partsOf(version: string): readonly string[] {
  return version.toLowerCase().match(/\d+|[a-z]+/g) ?? [];
}

/** Numbers by value; a word such as rc sorts before an absent part, and an absent part before a number. */
function orderParts(a: readonly string[], b: readonly string[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const side = orderPart(a[at] ?? '', b[at] ?? '');
    if (side !== 0) return side;
  }
  return 0;
}

function orderPart(a: string, b: string): number {
  const [first, second] = [rankOf(a), rankOf(b)];
  if (first !== second) return first - second;
  if (first === 0) return a < b ? -1 : Number(a > b);
  const [left, right] = [BigInt(a === '' ? 0 : a), BigInt(b === '' ? 0 : b)];
  return left < right ? -1 : Number(left > right);
}

function rankOf(part: string): number {
  if (part === '' || /^0+$/.test(part)) return 1;
  return /^\d/.test(part) ? 2 : 0;
}

/** A package URL without what follows its version: what kind of package, its whole name, and which version. */
type Purl = { readonly type: string; readonly name: string; readonly version: string | null };

const same = (name: string) => name;
const lower = (name: string) => name.toLowerCase();

/** What OSV calls the ecosystem of a type, and the spelling in which names are compared there. */
const ECOSYSTEMS: ReadonlyMap<string, readonly [ecosystem: string, spell: (name: string) => string]> =
  new Map([
    ['npm', ['npm', same]],
    ['pypi', ['PyPI', (name) => lower(name).replace(/[-_.]+/g, '-')]],
    ['cargo', ['crates.io', same]],
    ['golang', ['Go', same]],
    ['maven', ['Maven', (name) => name.replace('/', ':')]],
    ['nuget', ['NuGet', lower]],
    ['gem', ['RubyGems', same]],
    ['composer', ['Packagist', lower]],
    ['hex', ['Hex', same]],
    ['pub', ['Pub', same]],
    ['swift', ['SwiftURL', same]],
    ['conan', ['ConanCenter', same]],
  ]);

/** Parses a package URL; null for anything else. */
function parsePurl(text: string): Purl | null {
  const [, type = '', rest = ''] = /^pkg:\/{0,2}([A-Za-z0-9.+-]+)\/([^?#]+)/.exec(text.slice(0, 1024)) ?? [];
  // The @ of a scope is written as %40, and by some as it is; it begins a part that others follow.
  const at = rest.search(/(?<=[^/])@|(?<=.)@(?=[^/]*$)/);
  const parts = decode(at > 0 ? rest.slice(0, at) : rest).split('/');
  const name = parts.filter((part) => part !== '').join('/');
  const version = at > 0 ? decode(rest.slice(at + 1)) : null;
  return type === '' || name === '' ? null : { type: type.toLowerCase(), name, version };
}

function decode(name: string): string {
  return orElse(() => decodeURIComponent(name), name);
}
