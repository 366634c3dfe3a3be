import type { Cgroups } from './cgroups.ts';

export type Swept = {
  /** The names of groups that are gone now. */
  readonly removed: readonly string[];
  /** Groups that the kernel still holds, each with the reason; the next start tries again. */
  readonly left: readonly string[];
};

/**
 * Kills and removes what processes of our house left that are gone. `isGone` is asked with the process of the owner, as
 * it was given to `openCgroups`; a doubt must count as alive.
 */
export async function sweepCgroups(cgroups: Cgroups, isGone: (owner: string) => boolean): Promise<Swept> {
  const removed: string[] = [];
  const left: string[] = [];
  const asked = new Map<string, boolean>();
  const isGoneOnce = (owner: string) => {
    const answer = asked.get(owner) ?? isGone(owner);
    asked.set(owner, answer);
    return answer;
  };
  const gone = cgroups.list().filter(({ process }) => isGoneOnce(process));
  await Promise.all(
    gone.map(async ({ name, group }) => {
      try {
        await group.remove();
        removed.push(name);
      } catch (error) {
        left.push(error instanceof Error ? error.message : String(error));
      }
    }),
  );
  return { removed: removed.sort(), left };
}
