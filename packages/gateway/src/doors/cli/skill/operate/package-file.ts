import { CodedError } from '../../../../core/coded-error.ts';
import { PACKAGE_LIMITS } from '../../../../skills/package/limits.ts';
import { openPackage } from '../../../../skills/package/open-package.ts';
import type { SkillPackage } from '../../../../skills/package/skill-package.ts';
import { type Bound, readNamed } from '../../input.ts';
import type { Invocation } from '../../verb.ts';

const BOUND: Bound = {
  maxBytes: PACKAGE_LIMITS.packageBytes,
  refuse: (name) =>
    new CodedError(
      'skill/invalid-package',
      `Cannot read ${name}: it has more than ${PACKAGE_LIMITS.packageBytes} bytes, expected no more`,
    ),
};

/** The bytes of a package that is a file or comes on standard input; never more than one past the limit. */
export function readPackageFile(invocation: Invocation, path: string): Promise<Uint8Array> {
  return readNamed(invocation, path, BOUND);
}

/** A package that is a file, opened and with its signature verified. */
export async function openPackageFile(invocation: Invocation, path: string): Promise<SkillPackage> {
  return openPackage(await readPackageFile(invocation, path));
}
