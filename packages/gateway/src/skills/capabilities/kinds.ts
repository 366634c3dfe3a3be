import { object } from '../../core/json-shape.ts';
import { flag, type Shape } from '../../core/shape.ts';
import type { ShapeProblem } from '../../core/shape-problem.ts';
import type { Risk } from '../../core/tool.ts';
import { type Asks, type GrantKind, hasGrant, NO_GRANTS, type WasmGrants } from '../../core/wasm.ts';
import { type Checked, flagIn } from '../manifest/checked.ts';
import type { ManifestKey } from '../manifest/key-rows.ts';
import type { AskRow, Capability } from './capability.ts';
import { channels } from './channels.ts';
import { http } from './http.ts';
import { clock, config, log, random } from './plain.ts';
import { secrets } from './secrets.ts';
import { storage } from './storage.ts';

/** Everything that a module can be granted, in the order in which it matters to people. */
export const CAPABILITIES: Readonly<Record<GrantKind, Capability>> = {
  http,
  secret: secrets,
  storage,
  channel: channels,
  log,
  clock,
  random,
  config,
};

const ALL = Object.values(CAPABILITIES);
const REVEAL = 'secret:reveal';

/** One thing that a skill asks for, as it is spelled to withhold it, and in a sentence for the person who decides. */
export type SpelledAsk = AskRow & Pick<Capability, 'isReaching'>;

/** The keys of the table itself come before its tables, as TOML wants it. */
export const CAPABILITY_KEYS: readonly ManifestKey[] = ALL.flatMap(({ keys }) => keys)
  .map((row) => ({ row, table: tableOf(row) }))
  .sort((a, b) => (a.table < b.table ? -1 : a.table > b.table ? 1 : 0))
  .map(({ row }) => row);

/** The table below `capabilities` that a key makes or is in; empty: none. */
function tableOf({ key, type }: ManifestKey): string {
  const [first = '', ...rest] = key.split('.');
  return rest.length > 0 || type === 'table' || type === 'tables' ? first : '';
}

/** What capabilities must be to each other. What did not fit its own key is not checked again. */
export function checkAsks(asks: Checked, found: ShapeProblem[]): void {
  // One that is itself wrong is not compared with the rest.
  const mayBeWild = flagIn(asks, 'allow_wildcards') ?? true;
  for (const { check } of ALL) check?.(asks, { mayBeWild, found });
}

/** What is asked for, of a table in which nothing was found. */
export function readAsks(asks: Checked): Asks {
  const allowWildcards = flagIn(asks, 'allow_wildcards') === true;
  return Object.assign({ allowWildcards }, ...ALL.map((each) => each.readAsks(asks)));
}

/** The forms in which both are kept. */
export const ASKS = object(
  Object.assign({ allowWildcards: flag }, ...ALL.map(({ shapes }) => shapes.asks)),
) as Shape<Asks>;
export const GRANTS = object(
  Object.assign({}, ...ALL.map(({ shapes }) => shapes.grants)),
) as Shape<WasmGrants>;

/** All that is asked for; names in it were written by the author of the skill. */
export function spellAsks({ asks }: { readonly asks: Asks }): readonly SpelledAsk[] {
  return ALL.flatMap(({ describe, isReaching }) => describe(asks).map((row) => ({ ...row, isReaching })));
}

/** Every option that withholds something from a skill, without `all`. */
export function withholdingsOf({ asks }: { readonly asks: Asks }): readonly string[] {
  const spelled = spellAsks({ asks }).filter(({ isReaching }) => isReaching);
  const further = ALL.flatMap(({ withholdings }) => withholdings?.(asks) ?? []);
  return [...new Set([...spelled.map(({ spelling }) => spelling), ...further])];
}

/** The grants of all that is asked for, with no value for the configuration. */
export function grantAll(asks: Asks): WasmGrants {
  return Object.assign({}, NO_GRANTS, ...ALL.map((each) => each.grantAll(asks)));
}

/** The grants without what one of the options of `withholdingsOf` removes. */
export function withhold(grants: WasmGrants, word: string): WasmGrants {
  return changed(grants, (each) => each.withhold?.(grants, word));
}

/** What is left that still allows what the option should remove, as it is spelled; null: nothing does. */
export function coveringGrant(word: string, left: WasmGrants, asks: Asks): string | null {
  return (
    ALL.map(({ covering }) => covering?.(word, left, asks) ?? null).find((each) => each !== null) ?? null
  );
}

/**
 * The grants as far as a module with these imports of the ABI can use them. Null: what it imports is unknown, and counts
 * as everything.
 */
export function usableGrants(grants: WasmGrants, imports: readonly string[] | null): WasmGrants {
  if (imports === null) return grants;
  const known = new Set(imports);
  return changed(grants, (each) => each.usable(grants, known));
}

/** The grants without what was asked for and withheld: policies see what a call can do, not what was asked for. */
export function openGrants(grants: WasmGrants): WasmGrants {
  return changed(grants, (each) => each.openOnly?.(grants));
}

function changed(
  grants: WasmGrants,
  change: (capability: Capability) => Partial<WasmGrants> | undefined,
): WasmGrants {
  return Object.assign({}, grants, ...ALL.map(change));
}

/** Every single thing that a grant allows, each in a spelling of its own. */
export function termsOf(grants: WasmGrants): readonly string[] {
  return [...new Set(ALL.flatMap(({ terms }) => terms(grants)))];
}

/** The grants as `--grant` takes them, for people to read and for an approval to be bound to. */
export function spellGrants(grants: WasmGrants): readonly string[] {
  return ALL.flatMap((each) => each.spellGrants(grants));
}

/** The kinds of what was granted, in one order; and, where a secret may be read, an entry for that. */
export function capabilitiesOf(grants: WasmGrants): readonly string[] {
  const kinds = ALL.map(({ kind }) => kind).filter((kind) => hasGrant(grants, kind));
  return grants.secrets.some(({ mayReveal }) => mayReveal) ? [...kinds, REVEAL] : kinds;
}

/** Low where all that it can do is compute; what reaches further is for people to run. */
export function riskOf(grants: WasmGrants): Risk {
  return ALL.some(({ kind, isReaching }) => isReaching && hasGrant(grants, kind)) ? 'medium' : 'low';
}

export function isGrantKind(kind: string): kind is GrantKind {
  return Object.hasOwn(CAPABILITIES, kind);
}
