import { CodedError } from '../../core/coded-error.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { accept, reject } from '../../core/result.ts';
import { type OfferRead, readDefinitions, setOf } from '../../upstreams/definition.ts';
import { DEFINITION_LIMITS, LISTED_LIMITS, type RawListed, readListed } from '../../upstreams/listed.ts';
import { type Peer, PeerError } from './peer.ts';

/* The handshake of a session and the lists of a server, in both generations of MCP. */

/** The form of requests to this server. */
export type Dialect = {
  readonly version: string;
  /** What every request contains beside its own parameters. */
  readonly meta: JsonObject | null;
  /** A method without effect that every server answers. */
  readonly ping: string;
  /** Its capabilities beside tools. */
  readonly has: { readonly prompts: boolean; readonly resources: boolean; readonly completions: boolean };
};

const LEGACY = '2025-11-25';
const LEGACY_VERSIONS: readonly Json[] = [LEGACY, '2025-06-18', '2025-03-26', '2024-11-05'];
const MODERN = '2026-07-28';
/** What is declared where a person can be asked. */
const ASKING: JsonObject = { elicitation: { form: {} } };

/**
 * Performs the handshake: `initialize` first, which older servers know and newer ones answer with an error. `asks`:
 * whether the server may put questions to people.
 */
export async function connect(peer: Peer, version: string, asks: boolean): Promise<Dialect> {
  const clientInfo = { name: 'palisade', version };
  const ours: JsonObject = asks ? ASKING : {};
  try {
    const params = { protocolVersion: LEGACY, capabilities: ours, clientInfo };
    const { protocolVersion, capabilities } = await peer.request('initialize', params);
    if (!LEGACY_VERSIONS.includes(protocolVersion ?? null)) throw unknownVersion(protocolVersion);
    peer.notify('notifications/initialized', {});
    return { version: protocolVersion as string, meta: null, ping: 'ping', has: hasOf(capabilities) };
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
  }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': clientInfo,
  };
  const discover = { _meta: { ...meta, 'io.modelcontextprotocol/clientCapabilities': ours } };
  const { supportedVersions, capabilities } = await peer.request('server/discover', discover);
  if (Array.isArray(supportedVersions) && !supportedVersions.includes(MODERN))
    throw unknownVersion(supportedVersions.join(', '));
  return { version: MODERN, meta, ping: 'server/discover', has: hasOf(capabilities) };
}

/** What a request offers to its server: to read its log, and to put its questions to a person. */
type Offered = { readonly logs: boolean; readonly asks: boolean };

/** The parameters of a request in the form that this server expects. */
export function paramsFor({ meta }: Dialect, params: JsonObject, offered?: Offered): JsonObject {
  if (meta === null) return params;
  const level: JsonObject = offered?.logs ? { 'io.modelcontextprotocol/logLevel': 'debug' } : {};
  const capabilities: JsonObject = offered?.asks ? ASKING : {};
  return {
    ...params,
    _meta: { ...meta, ...level, 'io.modelcontextprotocol/clientCapabilities': capabilities },
  };
}

function hasOf(capabilities: Json | undefined): Dialect['has'] {
  const declared: Partial<JsonObject> = isJsonObject(capabilities) ? capabilities : {};
  const has = (name: string) => typeof declared[name] === 'object' && declared[name] !== null;
  return { prompts: has('prompts'), resources: has('resources'), completions: has('completions') };
}

function unknownVersion(version: unknown): CodedError {
  const shown = typeof version === 'string' ? version.slice(0, 64) : typeof version;
  return new CodedError(
    'tier/upstream-failed',
    `it speaks protocol version "${shown}", expected ${LEGACY} or ${MODERN}`,
  );
}

/** Lists tools, prompts, resources and templates; the problem is the first unusable one. */
export async function listAll(peer: Peer, dialect: Dialect): Promise<OfferRead> {
  const tools = await pagesOf(peer, dialect, TOOLS);
  if (tools === null) return reject('its list of tools has no end or is too large');
  if (tools === 'none') return reject('it answered tools/list without a list');
  const read = readDefinitions(tools);
  if (!read.ok) return read;
  const raw = await listBeside(peer, dialect);
  if (raw === null) return reject('its list of prompts or templates has no end or is too large');
  const beside = readListed(raw);
  return beside.ok ? accept(setOf(read.value.definitions, beside.value)) : beside;
}

async function listBeside(peer: Peer, dialect: Dialect): Promise<RawListed | null> {
  const { has } = dialect;
  const list = async (isThere: boolean, list: List) => (isThere ? orNone(pagesOf(peer, dialect, list)) : []);
  const prompts = await list(has.prompts, PROMPTS);
  const templates = await list(has.resources, TEMPLATES);
  // The first pages of resources are enough.
  const resources = (await list(has.resources, RESOURCES)) ?? [];
  if (prompts === null || templates === null) return null;
  return { prompts, templates, resources, completes: has.completions };
}

type List = { readonly method: string; readonly key: string; readonly most: number };

const TOOLS: List = { method: 'tools/list', key: 'tools', most: DEFINITION_LIMITS.tools };
const PROMPTS: List = { method: 'prompts/list', key: 'prompts', most: LISTED_LIMITS.prompts };
const TEMPLATES: List = {
  method: 'resources/templates/list',
  key: 'resourceTemplates',
  most: LISTED_LIMITS.templates,
};
const RESOURCES: List = { method: 'resources/list', key: 'resources', most: LISTED_LIMITS.resources };

/** A server that declares a capability and answers its list with an error has nothing to list. */
async function orNone(pages: Promise<readonly Json[] | null | 'none'>): Promise<readonly Json[] | null> {
  const listed = await pages.catch((error: unknown) => {
    if (!(error instanceof PeerError)) throw error;
    return 'none' as const;
  });
  return listed === 'none' ? [] : listed;
}

/** The items of a list, page by page; null where it is endless. */
async function pagesOf(
  peer: Peer,
  dialect: Dialect,
  { method, key, most }: List,
): Promise<readonly Json[] | null | 'none'> {
  const all: Json[] = [];
  let bytes = 0;
  let cursor: Json | undefined;
  for (let page = 1; page <= DEFINITION_LIMITS.pages; page++) {
    const params: JsonObject = typeof cursor === 'string' ? { cursor } : {};
    const { [key]: listed, nextCursor } = await peer.request(method, paramsFor(dialect, params));
    if (!Array.isArray(listed)) return 'none';
    all.push(...listed);
    bytes += JSON.stringify(listed).length;
    // Boundary: a list is read only up to the longest acceptable length.
    if (bytes > DEFINITION_LIMITS.listBytes || all.length > most) return key === 'resources' ? all : null;
    cursor = nextCursor;
    if (typeof cursor !== 'string' || cursor === '') return all;
  }
  return null;
}
