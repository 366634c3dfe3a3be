import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CodedError } from '../../../../core/coded-error.ts';
import { PACKAGE_LIMITS } from '../../../../skills/limits.ts';
import { openPackage } from '../../../../skills/package/open-package.ts';
import type { SkillPackage } from '../../../../skills/package/skill-package.ts';
import { type Bound, readNamed, wrongUsage } from '../../input.ts';
import { shellWord } from '../../shell-word.ts';
import type { Invocation } from '../../verb.ts';

const BOUND: Bound = {
  maxBytes: PACKAGE_LIMITS.packageBytes,
  refuse: (name) =>
    new CodedError(
      'skill/invalid-package',
      `Cannot read ${name}: it has more than ${PACKAGE_LIMITS.packageBytes} bytes, expected no more`,
    ),
};
const STANDARD_INPUT = '-';
/** How every archive begins that has anything in it. */
const START = Buffer.from('PK\u0003\u0004', 'latin1');

/** The bytes of a package that is a file or comes on standard input; never more than one past the limit. */
export async function readPackageFile(invocation: Invocation, given: string): Promise<Uint8Array> {
  const isPiped = given === STANDARD_INPUT;
  const path = isPiped ? given : resolve(invocation.edge.cwd, given);
  if (!isPiped) demandFile(path, given);
  const bytes = await readNamed(invocation, path, BOUND);
  // Whoever took another file is told so, and not what is wrong with it as an archive.
  if (START.equals(bytes.subarray(0, START.length))) return bytes;
  const name = isPiped ? 'standard input' : `"${given}"`;
  throw new CodedError(
    'skill/invalid-package',
    `Cannot read ${name}: it is no package of a skill, expected a file that \`palisade skill pack\` made`,
  );
}

/** A package that is a file, opened and with its signature verified. */
export async function openPackageFile(invocation: Invocation, path: string): Promise<SkillPackage> {
  return openPackage(await readPackageFile(invocation, path));
}

/** The mistakes that everybody makes once. */
function demandFile(path: string, given: string): void {
  const kind = kindOf(path);
  if (kind === 'missing')
    throw wrongUsage(`Cannot read "${given}": there is no such file, expected a package`);
  if (kind !== 'folder') return;
  throw new CodedError(
    'door/wrong-usage',
    `Cannot read "${given}": it is a folder, expected a package, which is one file`,
    { remedy: `Make one of it with \`palisade skill pack ${shellWord(given)}\`.` },
  );
}

/** What cannot be looked at is told by whoever reads it. */
function kindOf(path: string): 'missing' | 'folder' | 'other' {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return 'missing';
    return stats.isDirectory() ? 'folder' : 'other';
  } catch {
    return 'other';
  }
}
