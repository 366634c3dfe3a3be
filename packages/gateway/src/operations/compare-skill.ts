import { type CodedError, wrongUsage } from '../core/coded-error.ts';
import type { Gateway } from '../invoke/gateway.ts';
import { proseOf, storedPackage } from '../invoke/skills/examine.ts';
import { requireSkill } from '../invoke/skills/skill-acts.ts';
import { differenceOf } from '../skills/difference.ts';
import { activeOf, versionsOf } from '../skills/index/read.ts';
import type { SkillPackage } from '../skills/package/skill-package.ts';

/** The two sides of a comparison; null: chosen here. */
type Sides = {
  readonly id: string;
  readonly from: string | null;
  readonly to: string | null;
  /** The other side is this package, which is not installed. */
  readonly file: SkillPackage | null;
};

/** What one version has that another does not. */
export async function compareSkill(gateway: Gateway, sides: Sides) {
  const { id, file } = sides;
  const installed = (version: string | null) => requireSkill(gateway.store, { id, version }, []);
  const before = installed(sides.from ?? startOf(gateway, sides));
  const end = () => installed(sides.to ?? endOf(gateway, id, before.version));
  const after = file ?? (await storedPackage(gateway, end()));
  if (after.manifest.id !== id)
    throw wrong(`Cannot compare ${id}: the package is of ${after.manifest.id}, expected the same skill`);
  const { manifest, grant } = before;
  const difference = differenceOf(
    { manifest, grant, prose: proseOf(await storedPackage(gateway, before)) },
    { manifest: after.manifest, prose: proseOf(after) },
  );
  const against = grant === null ? ('asked' as const) : ('granted' as const);
  return { id, from: before.version, to: after.manifest.version, against, ...difference };
}

/** The version that runs; else, where another is wanted as the end, the newest beside it. */
function startOf({ store }: Gateway, { id, to, file }: Sides): string | null {
  const active = activeOf(store, id);
  if (active !== null && active !== to) return active;
  const [newest, second] = versionsOf(store, id).filter(({ version }) => version !== to);
  return (file === null && to === null ? (second ?? newest) : newest)?.version ?? null;
}

/** The newest version that is not the one to start from. */
function endOf({ store }: Gateway, id: string, from: string): string {
  const newest = versionsOf(store, id).find(({ version }) => version !== from);
  if (newest !== undefined) return newest.version;
  throw wrong(`Cannot compare ${id}: only version ${from} is installed, expected another one or a package`);
}

function wrong(message: string): CodedError {
  return wrongUsage(message, 'Name two versions of one skill.');
}
