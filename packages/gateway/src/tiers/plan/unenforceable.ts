import type { RefusedCode } from '../../core/outcome.ts';

/** A plan that was not made, because what it would start is weaker than what was asked for. */
export type PlanRefusal = {
  readonly ok: false;
  readonly code: RefusedCode & 'tier/unenforceable';
  readonly message: string;
  readonly remedy: string;
};

/** The one way in which a plan says no. */
export function unenforceable(message: string, remedy: string): PlanRefusal {
  return { ok: false, code: 'tier/unenforceable', message, remedy };
}
