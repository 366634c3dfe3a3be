/** Tiers B and C as the line sees them: probed once, when the first call needs them. */
import type { CheckedCall } from '../../core/checked-call.ts';
import { type Refused, refuse } from '../../core/outcome.ts';
import { spend } from '../../policy/grant.ts';
import type { Tier } from '../tier.ts';
import { type Probed, type ProbeOptions, probeB, probeC } from './probe.ts';
import { type CommandKit, runCommand } from './run-command.ts';

/** Both tiers of commands. */
export function commandTiers(
  kit: Omit<CommandKit, 'launcher'>,
  options: ProbeOptions,
): { readonly b: Tier; readonly c: Tier } {
  return { b: tierOf(kit, () => probeB(options)), c: tierOf(kit, () => probeC(options)) };
}

function tierOf(kit: Omit<CommandKit, 'launcher'>, probe: () => Promise<Probed>): Tier {
  let probed: Promise<Probed> | null = null;
  const look = () => {
    probed ??= probe();
    return probed;
  };
  return {
    refusal: async (checked) => {
      const found = await look();
      return found.ok ? planRefusal(found.tier.plan, checked, kit) : lackOf(checked, found);
    },
    run: async (grant, limits, ties) => {
      const checked = spend(grant);
      const found = await look();
      if (!found.ok) throw new TypeError(`Cannot run ${checked.tool.id}: ${found.why}`);
      const whole: CommandKit = { ...kit, launcher: found.launcher };
      return runCommand(whole, found.tier, { checked, limits }, ties);
    },
  };
}

type Found = Extract<Probed, { ok: true }>;

/** Boundary: what the tier cannot hold is refused before anything is recorded as begun. */
function planRefusal(
  plan: Found['tier']['plan'],
  { process }: CheckedCall,
  { runAs }: Pick<CommandKit, 'runAs'>,
): Refused | null {
  if (process === null) return null;
  const asRoot = runAs === null ? null : { ...runAs, owner: { uid: 0, gid: 0 } };
  const planned = plan(process.terms, { cgroups: 0, asRoot });
  return planned.ok ? null : refuse(planned.code, planned.message, planned.remedy);
}

function lackOf({ tool, tier }: CheckedCall, { why, fix }: { why: string; fix: string }): Refused {
  return refuse('tier/unenforceable', `Cannot run ${tool.id} in tier ${tier}: ${why}`, fix);
}
