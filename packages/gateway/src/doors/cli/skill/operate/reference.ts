import type { Named } from '../../../../invoke/skills/skill-acts.ts';
import { parseVersion } from '../../../../skills/semver.ts';
import { wrongUsage } from '../../input.ts';

const MOST_ID_CHARS = 64;
const ID = /^[a-z0-9]+(?:[.-][a-z0-9]+)+$/;

/** Reads `ID` or `ID@VERSION`. Whether there is such a skill is for those who look. */
export function parseReference(raw: string): Named {
  const [, id = '', version] = /^([^@]*)(?:@(.*))?$/s.exec(raw) ?? [];
  // Boundary: what is no id and no version is told apart from what is not installed, and never reaches a path.
  if (id.length > MOST_ID_CHARS || !ID.test(id))
    throw wrongUsage(`Cannot use "${raw}" as a skill: "${id}" is no id, expected one as acme.text`);
  return { id, version: version === undefined ? null : readVersion(version) };
}

/** A version that a flag or a reference names. */
export function readVersion(raw: string): string {
  if (parseVersion(raw) !== null) return raw;
  throw wrongUsage(`Cannot use the version "${raw}": it is none, expected one as 1.2.0`);
}
