import type { RunResult } from './tier.ts';

/** A tier that broke after its call had begun, with what the call had used and done by then. */
export class TierFault extends Error {
  override readonly name = 'TierFault';
  readonly soFar: Omit<RunResult, 'ending'>;

  constructor(cause: unknown, soFar: Omit<RunResult, 'ending'>) {
    super('Cannot finish call: the tier broke', { cause });
    this.soFar = soFar;
  }
}
