import { anyText, list, looseObject, orNull, readJson } from '../core/json-shape.ts';
import { sentenceOf } from '../core/result.ts';
import { required } from '../core/shape.ts';
import { isSameOrigin } from '../egress/authority.ts';
import { resolveLocation } from '../egress/fetch/redirect.ts';
import { type Answer, failed, notAnswered, valuesOf } from './errors.ts';
import { OCI_LIMITS } from './limits.ts';
import { pullScope } from './pull.ts';
import { isRepositoryName, isTag, type Repository } from './reference.ts';
import type { RegistrySession } from './session.ts';

/* What a registry lists: its repositories and their tags. Both are bounded, and names outside the grammar are left out. */

export type Listed = {
  readonly names: readonly string[];
  /** Names that are not valid, and would be dangerous in a path or on a terminal. */
  readonly malformed: number;
  /** There are more than are read. */
  readonly isCut: boolean;
};

/** The repositories of a registry; null where it does not list them. */
export async function listRepositories(session: RegistrySession): Promise<Listed | null> {
  const first = `/v2/_catalog?n=${OCI_LIMITS.pageEntries}`;
  return listPages(session, first, {
    ...{ member: 'repositories', scope: 'registry:catalog:*', isValid: isRepositoryName },
    ...{ most: OCI_LIMITS.repositories, isOptional: true },
  });
}

/** The tags of a repository. */
export async function listTags(session: RegistrySession, repository: Repository): Promise<Listed> {
  const first = `/v2/${repository.name}/tags/list?n=${OCI_LIMITS.pageEntries}`;
  const listed = await listPages(session, first, {
    ...{ member: 'tags', scope: pullScope(repository), isValid: isTag },
    ...{ most: OCI_LIMITS.pageEntries * OCI_LIMITS.pages, isOptional: false },
  });
  return listed ?? { names: [], malformed: 0, isCut: false };
}

type ListTerms = {
  readonly member: 'repositories' | 'tags';
  readonly scope: string;
  readonly isValid: (name: string) => boolean;
  readonly most: number;
  /** A registry may do without this list. */
  readonly isOptional: boolean;
};

async function listPages(session: RegistrySession, first: string, terms: ListTerms): Promise<Listed | null> {
  const names = new Set<string>();
  let malformed = 0;
  let path: string | null = first;
  // Boundary: a list that never ends is read as far as it is of use.
  for (let pages = 0; path !== null && pages < OCI_LIMITS.pages && names.size < terms.most; pages += 1) {
    const answer = await session.request(
      { method: 'GET', at: path, scope: terms.scope, responseBytes: OCI_LIMITS.pageBytes },
      terms.isOptional ? [200, 404, 405, 501] : [200],
    );
    if (answer.status !== 200) return null;
    for (const name of namesIn(session, answer, terms.member)) {
      if (terms.isValid(name)) names.add(name);
      else malformed += 1;
    }
    path = nextOf(session, answer, path);
  }
  const isCut = path !== null || names.size > terms.most;
  return { names: [...names].slice(0, terms.most), malformed, isCut };
}

function namesIn({ task }: RegistrySession, answer: Answer, member: ListTerms['member']): readonly string[] {
  const shape = looseObject({ [member]: required(orNull(list(anyText))) });
  const read = readJson(answer.body, { maxBytes: OCI_LIMITS.pageBytes, maxDepth: 8 }, shape);
  if (!read.ok) throw failed(task, `Cannot use the list of ${member}: ${sentenceOf(read.problem)}.`);
  return (read.value as Readonly<Record<string, readonly string[] | null>>)[member] ?? [];
}

/** The next page, as the Link header names it (RFC 8288); null: this is the last. */
function nextOf(session: RegistrySession, answer: Answer, path: string): string | null {
  const [link = ''] = valuesOf(answer, 'link');
  const [, target] = /^<([^<>]*)>[^<>]*;\s*rel="?next"?/.exec(link) ?? [];
  if (target === undefined) return null;
  const base = session.url(path);
  const next = resolveLocation(base, target);
  if (!next.ok) throw notAnswered(session.task, next.problem);
  const isSameList = next.value.path.split('?', 1)[0] === path.split('?', 1)[0];
  // Boundary: a page is of the same list; a link elsewhere would be a request that no one asked for.
  if (isSameOrigin(next.value, base) && isSameList) return next.value.path === path ? null : next.value.path;
  throw failed(session.task, 'Cannot go on: the next page is not of the same list.');
}
