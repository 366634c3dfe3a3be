import type { UpstreamRule } from '../config/config.ts';
import { type Digest, digestValue } from '../core/digest.ts';

/** What decides which program answers: another command, or other variables, are another server. */
export function ruleDigest({ command, env }: UpstreamRule): Digest {
  return digestValue({ command: [...command], env: [...env].sort() });
}
