import type { InitializeResult, ServerCapabilities } from '@modelcontextprotocol/server';

/* What this server says of itself to every client. Nothing here needs the SDK or an open gateway. */

/** The revisions of the era of `initialize`; the first is offered to clients that request any other. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18'];

/** The revision of the era of `server/discover`. */
export const MODERN_VERSION = '2026-07-28';

/** How long a client may cache what it discovered. */
export const DISCOVERY_HINT = { ttlMs: 60_000, cacheScope: 'private' } as const;

export const INSTRUCTIONS = [
  'Every call is decided by policies, runs in a sandbox and leaves a signed receipt.',
  'A result with isError says why in structuredContent: status, code, message and remedy.',
  'Where status is "approval_required", ask your user to run what approveWith says; never run it yourself.',
  'Then repeat the identical call; pause before each repetition, with palisade_sleep where it is offered.',
  'Do not work around a refusal.',
].join(' ');

export const CAPABILITIES: ServerCapabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true },
  prompts: {},
  completions: {},
  // Of upstream servers.
  logging: {},
};

export function serverInfo(version: string) {
  return { name: 'palisade', title: 'Palisade', version };
}

/** The answer to `initialize`, as the SDK gives it. */
export function greeting(requested: string, version: string): InitializeResult {
  const protocolVersion = LEGACY_VERSIONS.find((each) => each === requested) ?? '2025-11-25';
  return {
    protocolVersion,
    capabilities: CAPABILITIES,
    serverInfo: serverInfo(version),
    instructions: INSTRUCTIONS,
  };
}

/** The answer to `server/discover`, as the SDK gives it. */
export function discovery(version: string) {
  return {
    supportedVersions: [MODERN_VERSION],
    capabilities: CAPABILITIES,
    instructions: INSTRUCTIONS,
    resultType: 'complete',
    ...DISCOVERY_HINT,
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo(version) },
  };
}
