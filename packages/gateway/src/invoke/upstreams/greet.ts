/* The first words of a session, in both eras of MCP: how the server is spoken to. */
import { CodedError } from '../../core/coded-error.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { type Peer, PeerError } from './peer.ts';

/** How requests to this server look. */
export type Speech = {
  readonly era: string;
  /** What every request brings beside its own parameters. */
  readonly meta: JsonObject | null;
  /** Something harmless that a server which listens answers. */
  readonly ping: string;
  /** What it says that it has beside tools. */
  readonly has: { readonly prompts: boolean; readonly resources: boolean; readonly completions: boolean };
};

const LEGACY = '2025-11-25';
const LEGACY_VERSIONS: readonly Json[] = [LEGACY, '2025-06-18', '2025-03-26', '2024-11-05'];
const MODERN = '2026-07-28';

/** Greets a server: `initialize` first, which every older one knows and every newer one answers with an error. */
export async function greet(peer: Peer, version: string): Promise<Speech> {
  const clientInfo = { name: 'palisade', version };
  try {
    const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo };
    const { protocolVersion, capabilities } = await peer.request('initialize', params);
    if (!LEGACY_VERSIONS.includes(protocolVersion ?? null)) throw unknownVersion(protocolVersion);
    peer.notify('notifications/initialized', {});
    return { era: protocolVersion as string, meta: null, ping: 'ping', has: hasOf(capabilities) };
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
  }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const { supportedVersions, capabilities } = await peer.request('server/discover', { _meta: meta });
  if (Array.isArray(supportedVersions) && !supportedVersions.includes(MODERN))
    throw unknownVersion(supportedVersions.join(', '));
  return { era: MODERN, meta, ping: 'server/discover', has: hasOf(capabilities) };
}

/** The parameters of a request, as this server wants them. */
export function spoken({ meta }: Speech, params: JsonObject): JsonObject {
  return meta === null ? params : { ...params, _meta: meta };
}

function hasOf(capabilities: Json | undefined): Speech['has'] {
  const said = typeof capabilities === 'object' && capabilities !== null ? capabilities : {};
  const { prompts, resources, completions } = said as JsonObject;
  return { prompts: isSaid(prompts), resources: isSaid(resources), completions: isSaid(completions) };
}

function isSaid(capability: Json | undefined): boolean {
  return typeof capability === 'object' && capability !== null;
}

function unknownVersion(version: unknown): CodedError {
  const shown = typeof version === 'string' ? version.slice(0, 64) : typeof version;
  return new CodedError(
    'tier/upstream-failed',
    `it speaks version "${shown}" of the protocol, expected ${LEGACY} or ${MODERN}`,
  );
}
