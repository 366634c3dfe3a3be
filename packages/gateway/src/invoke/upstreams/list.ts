/* All that a server offers, page by page: its tools, and what it has beside them. */
import type { Json, JsonObject } from '../../core/json.ts';
import { type ReadDefinitions, readDefinitions, setOf } from '../../upstreams/definition.ts';
import { DEFINITION_LIMITS, LISTED_LIMITS } from '../../upstreams/limits.ts';
import { type RawListed, readListed } from '../../upstreams/listed.ts';
import { type Speech, spoken } from './greet.ts';
import { type Peer, PeerError } from './peer.ts';

/** Lists everything; `why` names the first thing that cannot be used. */
export async function listAll(peer: Peer, speech: Speech): Promise<ReadDefinitions> {
  const tools = await pagesOf(peer, speech, {
    method: 'tools/list',
    key: 'tools',
    most: DEFINITION_LIMITS.tools,
  });
  if (tools === null) return { ok: false, why: 'its list of tools does not end, or is too large' };
  if (tools === 'none') return { ok: false, why: 'it lists no tools, expected a list' };
  const read = readDefinitions(tools);
  if (!read.ok) return read;
  const raw = await listBeside(peer, speech);
  if (raw === null)
    return { ok: false, why: 'its list of prompts or templates does not end, or is too large' };
  const beside = readListed(raw);
  return beside.ok ? { ok: true, set: setOf(read.set.definitions, beside.listed) } : beside;
}

async function listBeside(peer: Peer, speech: Speech): Promise<RawListed | null> {
  const { has } = speech;
  const list = async (isThere: boolean, list: List) => (isThere ? orNone(pagesOf(peer, speech, list)) : []);
  const prompts = await list(has.prompts, PROMPTS);
  const templates = await list(has.resources, TEMPLATES);
  // Of resources, what comes first is enough.
  const resources = (await list(has.resources, RESOURCES)) ?? [];
  if (prompts === null || templates === null) return null;
  return { prompts, templates, resources, completes: has.completions };
}

type List = { readonly method: string; readonly key: string; readonly most: number };

const PROMPTS: List = { method: 'prompts/list', key: 'prompts', most: LISTED_LIMITS.prompts };
const TEMPLATES: List = {
  method: 'resources/templates/list',
  key: 'resourceTemplates',
  most: LISTED_LIMITS.templates,
};
const RESOURCES: List = { method: 'resources/list', key: 'resources', most: LISTED_LIMITS.resources };

/** A server that has a method for it by what it says, and then none, has nothing. */
async function orNone(pages: Promise<readonly Json[] | null | 'none'>): Promise<readonly Json[] | null> {
  const listed = await pages.catch((error: unknown) => {
    if (!(error instanceof PeerError)) throw error;
    return 'none' as const;
  });
  return listed === 'none' ? [] : listed;
}

/** What a list has, page by page; null where it does not end. */
async function pagesOf(
  peer: Peer,
  speech: Speech,
  { method, key, most }: List,
): Promise<readonly Json[] | null | 'none'> {
  const all: Json[] = [];
  let bytes = 0;
  let cursor: Json | undefined;
  for (let page = 1; page <= DEFINITION_LIMITS.pages; page++) {
    const params: JsonObject = typeof cursor === 'string' ? { cursor } : {};
    const { [key]: listed, nextCursor } = await peer.request(method, spoken(speech, params));
    if (!Array.isArray(listed)) return 'none';
    all.push(...listed);
    bytes += JSON.stringify(listed).length;
    // Boundary: a list is read no further than anybody could accept it.
    if (bytes > DEFINITION_LIMITS.listBytes || all.length > most) return key === 'resources' ? all : null;
    cursor = nextCursor;
    if (typeof cursor !== 'string' || cursor === '') return all;
  }
  return null;
}
