import type { Gateway } from '../../../invoke/gateway.ts';
import { type Named, requireSkill } from '../../../invoke/skills/skill-acts.ts';
import { proseOf, storedPackage } from '../../../invoke/skills/stored.ts';
import { differenceOf, type SkillDifference } from '../../../skills/difference.ts';
import { activeOf, versionsOf } from '../../../skills/index/read.ts';
import type { SkillPackage } from '../../../skills/package/skill-package.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Printer } from '../printer.ts';
import { withGateway } from '../skill/operate/act.ts';
import { openPackageFile } from '../skill/operate/package-file.ts';
import { printDifference } from '../skill/operate/print-difference.ts';
import { parseReference, readVersion } from '../skill/operate/reference.ts';
import type { Invocation } from '../verb.ts';

/** Shows what one version has that another does not. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [raw = '', path] = args;
  const named = parseReference(raw);
  const [from, to] = [versionFlag(invocation, 'from'), versionFlag(invocation, 'to') ?? named.version];
  if (path !== undefined && to !== null)
    throw wrongUsage('Cannot compare: a package and a version are given, expected one of both');
  const file = path === undefined ? null : await openPackageFile(invocation, path);
  return withGateway(invocation, async (gateway) => {
    const installed = (version: string | null) => requireSkill(gateway.store, { id: named.id, version }, []);
    const before = installed(from ?? startOf(gateway, named, to, file));
    const end = () => installed(to ?? endOf(gateway, named, before.version));
    const after = file ?? (await storedPackage(gateway, end()));
    if (after.manifest.id !== named.id)
      throw wrongUsage(
        `Cannot compare ${named.id}: the package is of ${after.manifest.id}, expected the same skill`,
      );
    const { manifest, grant } = before;
    const difference = differenceOf(
      { manifest, grant, prose: proseOf(await storedPackage(gateway, before)) },
      { manifest: after.manifest, prose: proseOf(after) },
    );
    tell(print, difference, {
      ...{ id: named.id, from: before.version, to: after.manifest.version },
      against: grant === null ? 'asked' : 'granted',
    });
    return 0;
  });
}

type Sides = {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly against: 'asked' | 'granted';
};

function tell(print: Printer, difference: SkillDifference, sides: Sides): void {
  const { id, from, to, against } = sides;
  if (print.json) print.document({ ...sides, ...difference });
  const what = against === 'asked' ? 'what is asked for' : 'what was granted';
  print.styled('bold', `${id}  ${from} → ${to}`, `  against ${what} in ${from}`);
  printDifference(print, difference);
}

function versionFlag(invocation: Invocation, name: 'from' | 'to'): string | null {
  const raw = textOf(invocation, name);
  return raw === undefined ? null : readVersion(raw);
}

/** The version that runs; else, where another is wanted as the end, the newest beside it. */
function startOf(
  { store }: Gateway,
  { id }: Named,
  to: string | null,
  file: SkillPackage | null,
): string | null {
  const active = activeOf(store, id);
  if (active !== null && active !== to) return active;
  const [newest, second] = versionsOf(store, id).filter(({ version }) => version !== to);
  return (file === null && to === null ? (second ?? newest) : newest)?.version ?? null;
}

/** The newest version that is not the one to start from. */
function endOf({ store }: Gateway, { id }: Named, from: string): string {
  const newest = versionsOf(store, id).find(({ version }) => version !== from);
  if (newest !== undefined) return newest.version;
  throw wrongUsage(
    `Cannot compare ${id}: only version ${from} is installed, expected another one or a package`,
  );
}
