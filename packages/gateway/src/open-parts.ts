/* The parts of a gateway that take more than one call to build. */
import { join } from 'node:path';
import { Channels } from './channels/channels.ts';
import { SocketCarrier } from './channels/socket-carrier.ts';
import { type Config, groupsByPrincipal, type UpstreamRule } from './config/config.ts';
import type { Environment } from './config/environment.ts';
import type { Observer, ToolCall } from './core/call.ts';
import type { Clock, Random } from './core/clock.ts';
import { type Log, NO_LOG } from './core/log.ts';
import type { Outcome } from './core/outcome.ts';
import type { ProcessTierName } from './core/process.ts';
import type { Tool } from './core/tool.ts';
import type { Lookup } from './egress/resolve.ts';
import type { BackgroundRuns } from './executors/background/runs.ts';
import { packagedServers } from './executors/upstream/packaged-servers.ts';
import { UpstreamServers, type UpstreamServersOptions } from './executors/upstream/servers.ts';
import type { Line, Opened, Records } from './invoke/gateway.ts';
import { invoke } from './invoke/invoke.ts';
import type { PolicyEngine } from './policy/engine.ts';
import type { CheckedSets } from './policy/memory.ts';
import { backgroundTools } from './registry/background-tools.ts';
import { BUILTIN_TOOLS } from './registry/builtin.table.ts';
import { processTool } from './registry/process-tool.ts';
import { Registry, type RegistryOptions } from './registry/registry.ts';
import { openRunner } from './runner/settings.ts';
import type { CallContext } from './tiers/tier.ts';
import { readGitIdentity } from './tiers/workspace/git-identity.ts';

export type OpenOptions = {
  readonly stateDir: string;
  readonly configPath?: string;
  readonly env: Environment;
  readonly version: string;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Where palisade was started: commands may work there if it is in a project and nothing else was granted. */
  readonly cwd?: string;
  /** Directories that the operator named on the command line; commands may work in and below these alone. */
  readonly workspaces?: readonly string[];
  /** Paths that commands may read and tool homes that they may use, besides those of the configuration. */
  readonly readOnly?: readonly string[];
  readonly toolHomes?: readonly string[];
  /** Tools besides those that every gateway has. */
  readonly tools?: readonly Tool[];
  /** The MCP servers behind it, in place of those of the configuration. */
  readonly upstreams?: readonly UpstreamRule[];
  /** Policy checks that need not be made again. */
  readonly checked?: CheckedSets;
  /** Another way to find the addresses of names, for tests. */
  readonly lookup?: Lookup;
  /** More authorities that targets are verified with, for tests. */
  readonly trustedCertificates?: string;
  /** It serves many calls, so sandboxes are kept ready. Such a gateway must be closed. */
  readonly isLasting?: boolean;
  /** The tier of the one command that it is opened for. */
  readonly expects?: ProcessTierName;
  /** Where it listens itself: what it runs cannot connect there. */
  readonly ports?: readonly number[];
  readonly observer?: Observer;
  /** Logs for operators what the journal records too. */
  readonly log?: Log;
};

/** The channels of all processes of the state directory. */
export function buildChannels({ presence }: Opened<Records>, directory: string): Channels {
  return new Channels((listener) => new SocketCarrier({ directory, presence }, listener));
}

/** What is configured of upstream servers and commands, with what the command line and the machine add to it. */
export function buildRules(records: Opened<Records>, options: OpenOptions) {
  const { config, clock } = records;
  const { env, cwd = null, workspaces: granted = [] } = options;
  const place = { ...records, ...options, node: process.execPath };
  const rules = packagedServers(options.upstreams ?? config.upstreams, place);
  const owner = { home: env.home, gitIdentity: readGitIdentity(env.home) };
  const runner = openRunner(config, { ...options, ...owner, cwd, granted, upstreams: rules }, clock);
  return { rules, runner };
}

type UpstreamParts = Pick<
  UpstreamServersOptions,
  'rules' | 'tools' | 'settings' | 'deps' | 'lifeMs' | 'stateFlag'
>;
type RegistryParts = Pick<RegistryOptions, 'skills' | 'upstreams' | 'tools'>;

export function buildRegistry(config: Config, parts: RegistryParts): Registry {
  const { input, limits, ceilings, wasm } = config;
  return new Registry({
    ...parts,
    input,
    limits,
    wasm: { wallMs: wasm.wallMs },
    ceilings,
    loadSchemas: async () => new (await import('./registry/schema.ts')).Schemas(),
  });
}

/** The tools that every gateway has. */
export function ownTools(
  { settings, deps }: ReturnType<typeof openRunner>,
  background: BackgroundRuns,
): readonly Tool[] {
  return [...BUILTIN_TOOLS, ...backgroundTools(background), processTool(settings, deps)];
}

/** The upstream servers; the process of one is a call of the line like any other. */
export function buildUpstreams(line: Line, parts: UpstreamParts): UpstreamServers {
  return new UpstreamServers({
    ...line,
    ...parts,
    policySet: () => line.policy.setDigest,
    startServer: (server, call, context) =>
      outcomeOf({ ...line, registry: line.registry.with([server]) }, call, context),
  });
}

/** How a call ended that the gateway makes itself. */
export async function outcomeOf(
  line: Line,
  call: ToolCall,
  { signal, ...listeners }: CallContext,
): Promise<Outcome> {
  return (await invoke(line, call, signal, listeners)).outcome;
}

export async function buildPolicy(
  { config, store, clock, journal }: Opened<Records>,
  { stateDir, checked, isLasting = false, log = NO_LOG }: OpenOptions,
  registry: Registry,
): Promise<PolicyEngine> {
  const { PolicyEngine } = await import('./policy/engine.ts');
  return new PolicyEngine({
    directory: join(stateDir, 'policies'),
    store,
    tools: (named) => registry.named(named),
    groups: groupsByPrincipal(config),
    clock,
    reloadMs: config.policy.reloadMs,
    // One that lasts loads the evaluator once, and asks too much to write it down.
    keepsAnswers: !isLasting,
    ...(checked && { checked }),
    onEvent: (event) => {
      const { kind, ...facts } = event;
      const body = JSON.parse(JSON.stringify(facts));
      log(kind === 'policy-loaded' ? 'info' : 'warn', kind, body);
      // Queued before what the decision at hand leads to, and so recorded before it or with it. Where nothing can be
      // written, that fails as well, and reports it.
      store.commit((tx) => journal.append(tx, { kind, body })).catch(() => undefined);
    },
  });
}
