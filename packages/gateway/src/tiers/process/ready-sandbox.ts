/**
 * The sandbox of a call: a warm one where there is one like it, otherwise a new one. The next warm one is made when the
 * call has its result, so that a short command does not wait for the processor while a spare is built.
 */
import { holdWorkspace } from '../workspace/held-directory.ts';
import type { CommandTier } from './plan.ts';
import type { CommandKit } from './run.ts';
import { demandPlan, identityOf, openSandbox, type Ready, type Sandbox, type Wish } from './sandbox.ts';

/** The next call does not wait for the end of a command that runs for longer. */
const REFILL_AFTER_MS = 25;

/** A sandbox for exactly this wish; throws where none can be made. */
export async function readySandbox(kit: CommandKit, tier: CommandTier, wish: Wish): Promise<Ready> {
  const { terms, held } = wish;
  const key = JSON.stringify([tier.name, terms.workspace, held.identity]);
  // Certificates that only this run trusts are in its own sandbox alone.
  if (wish.pass.trusted !== null) return openSandbox(kit, tier, wish);
  // A warm sandbox has no standard input, so a command with input leaves it for others.
  const take = () => (terms.stdin === null ? kit.warm.take(key) : null);
  for (let sandbox = take(); sandbox !== null; sandbox = take()) {
    const plan = demandPlan(tier, wish, { runAs: kit.runAs, ...sandbox });
    // Boundary: a sandbox for other terms, however similar, is not used for these.
    if (sandbox.identity === identityOf(plan, wish)) {
      return { sandbox, plan, isWarm: true, refill: refillOnce(kit, tier, { key, wish }) };
    }
    await sandbox.close();
  }
  const opened = await openSandbox(kit, tier, wish);
  return { ...opened, refill: refillOnce(kit, tier, { key, wish }) };
}

/** The returned function makes the spares soon, after what is waiting now; without it they are made a little later. */
function refillOnce(
  kit: CommandKit,
  tier: CommandTier,
  { key, wish }: { readonly key: string; readonly wish: Wish },
): () => void {
  const refill = () =>
    kit.warm.refill(key, (number) => spareSandbox(kit, tier, { ...wish, id: `spare-${number}` }));
  const timer = setTimeout(refill, REFILL_AFTER_MS);
  timer.unref();
  return () => {
    clearTimeout(timer);
    setImmediate(refill).unref();
  };
}

/** Another sandbox like the one for this wish, for the next call; null where it cannot be made. */
async function spareSandbox(
  kit: CommandKit,
  tier: CommandTier,
  { id, terms, held, pass }: Wish,
): Promise<Sandbox | null> {
  const again = holdWorkspace(terms.workspace);
  try {
    if (again.identity !== held.identity) return null;
    const wish = { id, terms: { ...terms, stdin: null }, held: again, pass, isSpare: true } as const;
    const { sandbox } = await openSandbox(kit, tier, wish);
    if (!('error' in sandbox.child)) return sandbox;
    await sandbox.close();
    return null;
  } finally {
    again.close();
  }
}
