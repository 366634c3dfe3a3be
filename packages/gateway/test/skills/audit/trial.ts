import type { AuditBench } from '../../../src/skills/audit/check.ts';
import type { Change, Contents } from './sample.ts';

/** How a package differs from the honest one. */
export type Difference = {
  readonly change?: Change;
  readonly files?: Contents;
  readonly bench?: Partial<AuditBench>;
};

/** A package that a check speaks about, and an honest neighbour that it says nothing about. */
export type Trial = {
  readonly id: string;
  readonly what: string;
  readonly bad: Difference;
  readonly good: Difference;
  /** What the finding has to name. */
  readonly says?: RegExp;
  readonly where?: string;
};
