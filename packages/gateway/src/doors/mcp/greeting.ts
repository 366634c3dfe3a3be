import type { InitializeResult, ServerCapabilities } from '@modelcontextprotocol/server';

/* What this server says of itself to every client. Nothing here needs the SDK or an open gateway. */

/** The revisions of the era of `initialize`; the first is offered to clients that request any other. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18'];

export const INSTRUCTIONS = [
  'Every call is decided by policies, runs in a sandbox and leaves a signed receipt.',
  'A result with isError says why in structuredContent: status, code, message and remedy.',
  'Where status is "approval_required", ask your user to run what approveWith says, then repeat the identical call.',
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
