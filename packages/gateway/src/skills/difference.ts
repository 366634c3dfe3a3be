import { canonicalize } from '@palisade/sdk';
import type { Risk } from '../core/tool.ts';
import { termsOf } from './capabilities/kinds.ts';
import { keptConfig, type SkillGrant, wholeGrant } from './grant.ts';
import { differenceOfLines } from './line-difference.ts';
import type { Manifest, ManifestTool } from './manifest/manifest.ts';

/** What a version has that another does not; `widens` says whether it could do more than before. */
export type SkillDifference = ReturnType<typeof differenceOf>;

type Before = { readonly manifest: Manifest; readonly grant: SkillGrant | null; readonly prose: string };
type After = { readonly manifest: Manifest; readonly prose: string };

const MOST_PROSE_LINES = 200;
const QUOTAS = ['wallMs', 'fuel', 'memoryBytes'] as const;
const RISKS: readonly Risk[] = ['low', 'medium', 'high'];

/**
 * Compares what a version requests with what the previous one was granted, or requested where nothing was granted yet:
 * a capability that the operator withheld is new again, and is shown as such.
 */
export function differenceOf(before: Before, after: After) {
  const held = before.grant ?? wholeGrant(before.manifest);
  const capabilities = difference(capabilitiesIn(before.manifest, held), capabilitiesIn(after.manifest));
  const quotas = quotaChanges(held.limits, after.manifest);
  const reviewers = reviewerChange(before.manifest, after.manifest);
  const tools = toolChanges(before.manifest.tools, after.manifest.tools);
  const lines = differenceOfLines(before.prose, after.prose, MOST_PROSE_LINES);
  const widens =
    capabilities.added.length > 0 ||
    tools.added.length > 0 ||
    quotas.some(isRaised) ||
    (reviewers !== null && reviewers.after < reviewers.before) ||
    hasHigherRisk(before.manifest.tools, after.manifest.tools);
  return {
    widens,
    capabilities,
    quotas,
    reviewers,
    tools,
    config: configChanges(before, after.manifest),
    prose: { changed: before.prose !== after.prose, lines },
  };
}

/** The keys of a configuration are asked for, and their values never are. */
function capabilitiesIn(manifest: Manifest, grant = wholeGrant(manifest)): readonly string[] {
  return [...termsOf(grant.wasm), ...(manifest.asks.config ?? []).map((key) => `config:${key}`)];
}

function difference(before: readonly string[], after: readonly string[]) {
  const missingIn = (other: readonly string[]) => (each: string) => !other.includes(each);
  return { added: after.filter(missingIn(before)), removed: before.filter(missingIn(after)) };
}

/** What becomes of the operator's values: those that are kept, the keys without one, and the keys that are gone. */
function configChanges({ manifest, grant }: Before, after: Manifest) {
  const { kept } = keptConfig(grant, after);
  const { added, removed } = difference(manifest.asks.config ?? [], after.asks.config ?? []);
  return { kept, added, removed };
}

/** Null: the skill names none, and has what the gateway gives. */
function quotaChanges(held: SkillGrant['limits'], { quotas }: Manifest) {
  return QUOTAS.map((name) => ({ name, before: held[name] ?? null, after: quotas[name] })).filter(
    ({ before, after }) => before !== after,
  );
}

/** How many people have to approve it; null: as many as before. */
function reviewerChange(before: Manifest, after: Manifest) {
  const change = { before: before.trust.reviewers, after: after.trust.reviewers };
  return change.before === change.after ? null : change;
}

/** Without a number it has all that the gateway gives, and the gateway gives no more for a number. */
function isRaised({ before, after }: ReturnType<typeof quotaChanges>[number]): boolean {
  return before !== null && (after === null || after > before);
}

function toolChanges(before: readonly ManifestTool[], after: readonly ManifestTool[]) {
  const ids = difference(
    before.map(({ id }) => id),
    after.map(({ id }) => id),
  );
  const changed = after.flatMap((tool) => {
    const old = before.find(({ id }) => id === tool.id);
    const what = old === undefined ? [] : changesOf(old, tool);
    return what.length === 0 ? [] : [{ id: tool.id, what }];
  });
  return { ...ids, changed };
}

function changesOf(old: ManifestTool, tool: ManifestTool): readonly string[] {
  const texts = (['name', 'description', 'risk', 'module', 'export'] as const).flatMap((key) =>
    old[key] === tool[key] ? [] : [`${key}: ${JSON.stringify(old[key])} → ${JSON.stringify(tool[key])}`],
  );
  const rest = Object.entries({
    'input schema': [old.inputSchema, tool.inputSchema],
    'output schema': [old.outputSchema, tool.outputSchema],
    annotations: [old.annotations, tool.annotations],
  }).flatMap(([name, [was, is]]) => (canonicalize(was) === canonicalize(is) ? [] : [`${name} changed`]));
  return [...texts, ...rest];
}

function hasHigherRisk(before: readonly ManifestTool[], after: readonly ManifestTool[]): boolean {
  const ranks = new Map(before.map(({ id, risk }) => [id, RISKS.indexOf(risk)]));
  return after.some(({ id, risk }) => RISKS.indexOf(risk) > (ranks.get(id) ?? RISKS.length));
}
