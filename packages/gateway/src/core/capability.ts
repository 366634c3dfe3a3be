import type { CheckedCall } from './checked-call.ts';
import type { ProcessTerms } from './process.ts';
import type { WasmGrants } from './wasm.ts';

/**
 * What a call can do beyond computing, in the same four words for commands, modules and upstream servers. They say what
 * is granted: neither a caller nor the author of a tool can add or remove one. Each has the sentence of docs/policy.md.
 */
export const CAPABILITY_TAGS = {
  ProcessExec: 'It starts a native program: every command, and every tool of an upstream server.',
  Network:
    'It reaches a network: a command with hosts of the allow-list, with ports, or with the network of the machine (`preflight`, `none`); a module or an upstream server with hosts.',
  SecretsRead:
    'It uses a secret: a command or an upstream server that names one, a module that was granted one.',
  FilesystemWrite:
    'It leaves data behind: every command and upstream server, in its workspace; a module that may write to its storage.',
} as const;

export type CapabilityTag = keyof typeof CAPABILITY_TAGS;

/** Entries of an allow-list of which at least one allows something. */
export function reachesHosts(entries: readonly (string | null)[]): boolean {
  return entries.some((entry) => entry !== null && !entry.startsWith('!'));
}

function tagged(tags: Readonly<Record<CapabilityTag, boolean>>): readonly CapabilityTag[] {
  return (Object.keys(CAPABILITY_TAGS) as CapabilityTag[]).filter((tag) => tags[tag]);
}

type CommandTerms = Pick<ProcessTerms, 'egress' | 'egressHosts' | 'ports' | 'secrets'>;

/** Of a command. Without the mode `strict` the network is that of the machine in every tier, whatever hosts are named. */
export function tagsOfCommand({
  egress,
  egressHosts,
  ports,
  secrets,
}: CommandTerms): readonly CapabilityTag[] {
  return tagged({
    ProcessExec: true,
    Network: egress !== 'strict' || reachesHosts(egressHosts) || ports.length > 0,
    SecretsRead: secrets.length > 0,
    // Every tier lets a command write to its workspace.
    FilesystemWrite: true,
  });
}

/** Of a module: its guest starts nothing. What was requested and withheld does not count. */
export function tagsOfModule({ http, secrets, storage }: WasmGrants): readonly CapabilityTag[] {
  return tagged({
    ProcessExec: false,
    Network: reachesHosts(http),
    SecretsRead: secrets.some(({ mayReveal, hosts }) => mayReveal || hosts.length > 0),
    FilesystemWrite: storage.some(({ write }) => write.length > 0),
  });
}

/** Of a tool of an upstream server, which is a process with the hosts and the secrets of its configuration. */
export function tagsOfUpstream(
  allowHosts: readonly string[],
  secrets: readonly string[],
): readonly CapabilityTag[] {
  return tagsOfCommand({ egress: 'strict', egressHosts: allowHosts, ports: [], secrets });
}

/** What policies are told of a call: what its tool declares, and what it was granted. */
export function capabilitiesOfCall({
  tool,
  process,
}: Pick<CheckedCall, 'tool' | 'process'>): readonly string[] {
  return [...new Set([...tool.capabilities, ...tagsOfCall(tool.executor, process)])];
}

function tagsOfCall(
  executor: CheckedCall['tool']['executor'],
  process: CheckedCall['process'],
): readonly CapabilityTag[] {
  // Boundary: a command is judged by its terms, which are what runs, and not by what its tool says of itself.
  if (process !== null) return tagsOfCommand(process.terms);
  switch (executor.kind) {
    case 'wasm':
      return tagsOfModule(executor.program.grants);
    case 'upstream':
      return executor.tags;
    default:
      return [];
  }
}
