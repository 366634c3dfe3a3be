import { EGRESS_LIMITS } from '../egress/limits.ts';

/** The limits of an input. */
export const INPUT_LIMITS = {
  commandBytes: 256,
  args: 128,
  /** A script of a shell is one argument, often with a file in it; the kernel takes twice as much. */
  argBytes: 64 * 1024,
  pathBytes: 4096,
  variables: 64,
  variableBytes: 4096,
  egressHosts: 64,
  entryBytes: EGRESS_LIMITS.entryChars,
  secrets: 16,
  secretBytes: 128,
  /** All texts together; what is longer belongs in a file of the workspace. */
  totalBytes: 128 * 1024,
} as const;
