/* What a registry offers: its skills, by the annotations of their manifests, which are claims until they are pulled. */
import { CodedError } from '../../core/coded-error.ts';
import { OCI_LIMITS } from '../../oci/limits.ts';
import { listRepositories, listTags } from '../../oci/list.ts';
import { type FoundSkill, findSkill } from '../../oci/pull.ts';
import {
  formatReference,
  formatRepository,
  type RegistryHost,
  type Repository,
} from '../../oci/reference.ts';
import type { RegistrySession } from '../../oci/session.ts';
import { PACKAGE_LIMITS } from '../../skills/limits.ts';
import { compareVersions, parseVersion } from '../../skills/semver.ts';
import { requireAdministrator } from '../administer.ts';
import type { Gateway, Opened } from '../gateway.ts';
import { openSession, type Sharing } from './share.ts';

type Searching = Sharing & {
  readonly registry: RegistryHost;
  /** Only this repository, with all its tags; null: all that the registry lists, with the newest tag of each. */
  readonly name: string | null;
  /** Only skills in whose reference, id, publisher or description this occurs. */
  readonly word: string;
};

export type SearchedSkills = {
  readonly skills: readonly (FoundSkill & { readonly text: string })[];
  /** What the registry lists that is not a skill, or cannot be read. */
  readonly others: number;
  /** Names that are outside the grammar, and were left out. */
  readonly malformed: number;
  /** There is more than was read. */
  readonly isCut: boolean;
};

/** The endings of one reference that do not end a search. */
const SKIPPED: ReadonlySet<string> = new Set(['oci/not-a-skill', 'oci/unknown', 'oci/denied']);

export async function searchRegistry(
  gateway: Opened<Gateway>,
  searching: Searching,
): Promise<SearchedSkills> {
  const { registry, name, word, by, tenant } = searching;
  requireAdministrator(gateway, by, tenant);
  const place = name === null ? registry.text : formatRepository({ registry, name });
  const session = openSession(gateway, registry, searching, `search "${place}"`);
  const isOne = name !== null;
  const repositories = isOne
    ? { names: [name], malformed: 0, isCut: false }
    : await repositoriesOf(session, registry);
  let { malformed, isCut } = repositories;
  let others = 0;
  const skills: SearchedSkills['skills'][number][] = [];
  for (const each of repositories.names) {
    const tags = await readable(() => listTags(session, { registry, name: each }), isOne);
    const newest = newestFirst(tags?.names ?? []).slice(0, isOne ? OCI_LIMITS.tags : 1);
    malformed += tags?.malformed ?? 0;
    if (isOne) isCut ||= tags?.isCut === true || (tags?.names.length ?? 0) > newest.length;
    if (newest.length === 0) others += 1;
    for (const tag of newest) {
      const found = await readable(() => skillAt(session, { registry, name: each }, tag), false);
      if (found === null) others += 1;
      else skills.push(found);
    }
  }
  return { skills: skills.filter((skill) => has(skill, word)), others, malformed, isCut };
}

async function repositoriesOf(session: RegistrySession, { text }: RegistryHost) {
  const listed = await listRepositories(session);
  if (listed !== null) return listed;
  const message = `Cannot ${session.task.act}: ${text} does not list its repositories, expected one that you name`;
  const remedy = `Name a repository: \`palisade skill search ${text}/NAME\` lists its tags.`;
  throw new CodedError('oci/unknown', message, { remedy });
}

async function skillAt(session: RegistrySession, repository: Repository, tag: string) {
  const reference = { ...repository, tag, digest: null };
  const found = await findSkill(session, reference, PACKAGE_LIMITS.packageBytes);
  return { ...found, text: formatReference(reference) };
}

/** What a step gives; null where that one thing cannot be read. */
async function readable<T>(step: () => Promise<T>, isDemanded: boolean): Promise<T | null> {
  try {
    return await step();
  } catch (error) {
    if (!isDemanded && error instanceof CodedError && SKIPPED.has(error.code)) return null;
    throw error;
  }
}

/** Tags by version, the highest first; those that are not versions come last. */
function newestFirst(tags: readonly string[]): readonly string[] {
  const versions = tags.map((tag) => ({ tag, version: tag.replace('_', '+') }));
  const isVersion = ({ version }: { version: string }) => parseVersion(version) !== null;
  const known = versions.filter(isVersion).sort((a, b) => compareVersions(b.version, a.version));
  const rest = versions.filter((each) => !isVersion(each)).sort((a, b) => (a.tag < b.tag ? -1 : 1));
  return [...known, ...rest].map(({ tag }) => tag);
}

function has({ text, claims }: SearchedSkills['skills'][number], word: string): boolean {
  const said = [text, claims.id, claims.publisher, claims.description].join('\n').toLowerCase();
  return said.includes(word.toLowerCase());
}
