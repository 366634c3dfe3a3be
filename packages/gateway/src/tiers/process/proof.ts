import { parseStatus } from '../child/status.ts';
import type { CommandPlan } from './command-plan.ts';

export type Proof = {
  /** Settles with what the walls lack, null for nothing, as soon as the launcher has reported them. */
  readonly proved: Promise<string | null>;
  /** Takes what the launcher has said so far. */
  readonly onStatus: (said: Uint8Array) => void;
};

/** Whether the walls of a command stand, asked while it runs. */
export function proofOf(plan: CommandPlan): Proof {
  let settle: (lack: string | null) => void = () => undefined;
  const proved = new Promise<string | null>((resolve) => {
    settle = resolve;
  });
  const onStatus = (said: Uint8Array) => {
    const status = parseStatus(said);
    if (!status.ok) return;
    const { pid, failed, facts } = status.value;
    if (failed) settle(`its sandbox failed at "${failed.step}" with ${failed.name}`);
    else if (pid !== null) settle(plan.missing(facts));
  };
  return { proved, onStatus };
}
