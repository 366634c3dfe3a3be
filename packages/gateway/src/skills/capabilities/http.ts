import { quote } from '../../core/hostile-text.ts';
import { anyText, list, orNull } from '../../core/json-shape.ts';
import { accept, reject } from '../../core/result.ts';
import type { WasmGrants } from '../../core/wasm.ts';
import { formatAddress, isInside, widthOf } from '../../egress/address.ts';
import { DEFAULT_PORTS } from '../../egress/authority.ts';
import { type HostPattern, parseRule, type Rule } from '../../egress/rule.ts';
import { type Checked, listIn, textsIn } from '../manifest/checked.ts';
import { flag, texts } from '../manifest/key-rows.ts';
import { misfitIn } from '../manifest/texts.table.ts';
import { type Capability, type CheckContext, report, WILD_HINT } from './capability.ts';

const KEY = 'http_egress_allowlist';

/** Requests to what one entry of an allow-list means; each entry is a capability. */
export const http: Capability = {
  kind: 'http',
  isReaching: true,
  manifestKey: KEY,
  keys: [
    texts(
      KEY,
      'egress-entry',
      ['api.example.com:443'],
      'Hosts that it sends requests to; each entry is a capability of its own.',
    ),
    flag(
      'allow_wildcards',
      false,
      'Confirms that wildcard hosts, address ranges and the root of the storage are intended.',
    ),
  ],
  check: checkHosts,
  readAsks: (asks) => ({ http: listIn(asks, KEY) }),
  shapes: { asks: { http: list(anyText) }, grants: { http: list(orNull(anyText)) } },

  describe: (asks) =>
    asks.http.map((entry) => {
      const spelling = `http=${entry}`;
      return { spelling, sentence: `sends requests to ${entry}`, terms: [spelling] };
    }),
  grantAll: (asks) => ({ http: [...asks.http] }),
  withhold: (grants, word) => ({
    http: grants.http.map((entry) => (word === `http=${entry}` ? null : entry)),
  }),
  covering: (word, left) => {
    const [, entry] = /^http=(.*)$/s.exec(word) ?? [];
    const cover = entry === undefined ? null : coveringEntry(entry, left.http);
    return cover === null ? null : `http=${cover}`;
  },
  usable: (grants, imports) => (imports.has('http_request') ? {} : { http: grants.http.map(() => null) }),
  openOnly: (grants) => ({ http: grants.http.filter((entry) => entry !== null) }),
  terms: (grants) => grants.http.flatMap((entry) => (entry === null ? [] : [`http=${entry}`])),

  form: 'http=ENTRY',
  sentence:
    'Requests that one entry of an allow-list permits, as in `http=api.example.com` or `http="GET https://api.example.com/v1/"`.',
  parseGrant: (entry) => {
    const misfit = misfitIn('egress-entry', entry);
    if (misfit !== null) return reject(misfit);
    return accept({ what: `http=${entry}`, addTo: (grants) => ({ http: [...grants.http, entry] }) });
  },
  spellGrants: (grants) => grants.http.map((entry) => `http=${entry}`),
};

function checkHosts(asks: Checked, context: CheckContext): void {
  const seen = new Set<string>();
  for (const [i, entry] of (textsIn(asks, KEY) ?? []).entries()) {
    const [rule] = rulesOf([entry]);
    if (rule === undefined) continue;
    reportWild(rule, [KEY, i], context);
    const meaning = meaningOf(rule);
    if (seen.has(meaning)) {
      const is = `${quote(rule.entry)} means the same as an entry before it`;
      report(context, [KEY, i], { is, expected: 'each once' });
    }
    seen.add(meaning);
  }
}

/** Reports an entry that means more than one host where the manifest does not say that it is meant. */
export function reportWild(rule: Rule, path: readonly (string | number)[], context: CheckContext): void {
  if (!isWild(rule) || context.mayBeWild) return;
  const is = `${quote(rule.entry)} means more than one host`;
  report(context, path, { is, expected: 'each host by its name', hint: WILD_HINT });
}

/** The entries that can be read. */
export function rulesOf(entries: readonly (string | null)[]): readonly Rule[] {
  return entries.flatMap((entry) => {
    const rule = entry === null ? null : parseRule(entry);
    return rule?.ok === true ? [rule.value] : [];
  });
}

/** The entries by which every host that a secret is for can be reached, and whether one of them may carry the secret. */
export function entriesFor(secretHost: Rule, allowed: readonly Rule[]) {
  const { place, ports } = secretHost;
  const port = ports?.length === 1 ? ports[0] : DEFAULT_PORTS.https;
  const entries = allowed.filter(
    (rule) => coversPlace(rule.place, place) && port !== undefined && rule.ports?.includes(port) === true,
  );
  // As it is when a request is made: never by an entry for http, and to port 80 only where an entry is for that alone.
  const carries = ({ scheme, ports }: Rule) =>
    scheme !== 'http' && (port !== DEFAULT_PORTS.http || ports?.length === 1);
  return { entries, mayCarry: entries.some(carries) };
}

/** The hosts of the grants as policies see them: a name, `*.name`, an address or a range. */
export function hostsOf(grants: Pick<WasmGrants, 'http'>): readonly string[] {
  return [...new Set(rulesOf(grants.http).map(({ place }) => formatPlace(place)))];
}

function formatPlace(place: HostPattern): string {
  if (place.kind === 'name') return place.name;
  if (place.kind === 'below') return `*.${place.name}`;
  const { family, first, bits } = place.range;
  const address = formatAddress({ family, value: first });
  return bits === widthOf(family) ? address : `${address}/${bits}`;
}

function isWild({ place }: Rule): boolean {
  if (place.kind !== 'range') return place.kind === 'below';
  return place.range.bits < widthOf(place.range.family);
}

/** A text that two entries have in common exactly when they mean the same. */
function meaningOf({ place, ports, scheme, methods, path }: Rule): string {
  const where =
    place.kind === 'range' ? [place.range.family, `${place.range.first}`, place.range.bits] : [place.name];
  return JSON.stringify([place.kind, ...where, ports, scheme, methods?.toSorted() ?? null, path]);
}

/** The entry among those that are left which allows all that this one allows; null: none does by itself. */
function coveringEntry(entry: string, left: readonly (string | null)[]): string | null {
  const inner = parseRule(entry);
  if (!inner.ok) return null;
  const covers = (other: string | null): other is string => {
    const outer = other === null ? null : parseRule(other);
    return outer?.ok === true && coversRule(outer.value, inner.value);
  };
  return left.find(covers) ?? null;
}

function coversRule(outer: Rule, inner: Rule): boolean {
  return (
    coversPlace(outer.place, inner.place) &&
    hasAll(outer.ports, inner.ports) &&
    hasAll(outer.methods, inner.methods) &&
    (outer.scheme === null || outer.scheme === inner.scheme) &&
    coversPath(outer.path, inner.path)
  );
}

function hasAll<T>(outer: readonly T[] | null, inner: readonly T[] | null): boolean {
  return outer === null || (inner?.every((each) => outer.includes(each)) ?? false);
}

/** A path with a slash at its end means only what is below it; one without means itself as well. */
function coversPath(outer: string | null, inner: string | null): boolean {
  if (outer === null || outer === inner) return true;
  return inner?.startsWith(outer.endsWith('/') ? outer : `${outer}/`) ?? false;
}

/** Whether every host of the inner place is one of the outer. */
function coversPlace(outer: HostPattern, inner: HostPattern): boolean {
  if (outer.kind === 'range' || inner.kind === 'range') {
    return outer.kind === 'range' && inner.kind === 'range' && isInside(inner.range, outer.range);
  }
  if (outer.kind === 'name') return inner.kind === 'name' && inner.name === outer.name;
  // Boundary: whole labels are compared, so "evilexample.com" is never below "example.com".
  const isBelow = inner.name.endsWith(`.${outer.name}`);
  return isBelow || (inner.kind === 'below' && inner.name === outer.name);
}
