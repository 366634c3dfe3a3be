/*
 * The installer as a tool of its own, for as long as one command takes. It goes through the line like every other: it is
 * authorised, recorded and has a receipt. It runs in the jail, writes to its staging directory alone, and reaches the hosts
 * of the registry alone.
 */
import type { Config } from '../../../config/config.ts';
import type { Clock } from '../../../core/clock.ts';
import { isJsonObject, type Json } from '../../../core/json.ts';
import { LIMIT_CEILINGS } from '../../../core/limits.ts';
import type { Tool } from '../../../core/tool.ts';
import type { AllowList } from '../../../egress/allowlist.ts';
import { processTool } from '../../../registry/process-tool.ts';
import { KnownPrograms } from '../../../runner/classify.ts';
import { FileDigests } from '../../../runner/executable.ts';
import type { ForbiddenPlaces } from '../../../runner/forbidden.ts';
import { allowListOf } from '../../../runner/host-lists.ts';
import { type RunnerSettings, settingsOf } from '../../../runner/settings.ts';
import { INSTALL_STEPS, type Installer, type InstallStep } from './installers.ts';

export const FETCH_TOOL = 'palisade.package.fetch';

type FetchBench = {
  readonly installer: Installer;
  readonly staging: string;
  readonly hosts: readonly string[];
  readonly config: Config;
  readonly clock: Clock;
  readonly forbidden: ForbiddenPlaces;
};

/** The tool that fetches the packages of one command line. */
export function fetchTool(bench: FetchBench): Tool {
  const { installer, staging, hosts, clock, forbidden } = bench;
  const settings = settingsFor(bench);
  const digests = new FileDigests(clock);
  const deps = { known: new KnownPrograms(settings.searchPath, digests), digests, forbidden };
  const command = processTool(
    () => settings,
    () => deps,
  );
  const { executor } = command;
  if (executor.kind !== 'process') throw new TypeError('Cannot make the tool: it is not a command');
  const inputOf = (step: InstallStep): Json => ({
    command: installer.command,
    args: [...(installer.steps[step] ?? installer.steps.install)],
    workspace: staging,
    tier: 'c',
    egress: 'strict',
    egress_hosts: [...hosts],
  });
  return {
    ...command,
    id: FETCH_TOOL,
    description: 'Fetches packages from their registry, without running anything of them.',
    category: 'package',
    inputSchema: {
      type: 'object',
      properties: {
        source: { type: 'string', maxLength: 4096, description: 'The registry and the packages.' },
        step: { type: 'string', enum: [...INSTALL_STEPS], description: 'All of it, or one half.' },
      },
      required: ['source'],
      additionalProperties: false,
    },
    limits: LIMIT_CEILINGS,
    hosts: () => hosts.map((host) => host.replace(/:\d+$/, '')),
    executor: { kind: 'process', prepare: (input) => executor.prepare(inputOf(stepIn(input))) },
  };
}

function stepIn(input: Json): InstallStep {
  const step = isJsonObject(input) ? input.step : undefined;
  return INSTALL_STEPS.find((each) => each === step) ?? 'install';
}

/** Boundary: the hosts of the registry alone; one that the operator denies to all commands is denied here too. */
export function hostsFor(config: Config, hosts: readonly string[]): AllowList {
  const denied = config.process.egressHosts.filter((entry) => entry.startsWith('!'));
  return allowListOf([...denied, ...hosts], '--allow-host');
}

const GIB = 2 ** 30;

/** The settings of the operator limit what the installer may use; what it runs, where and with which hosts is fixed here. */
function settingsFor({ installer, staging, hosts, config }: FetchBench): RunnerSettings {
  const settings = settingsOf(config, null);
  const { ceilings } = settings;
  const { wallMs, cpuMs, egressBytes, memoryBytes } = ceilings;
  return {
    ...settings,
    workspaceRoots: [staging],
    defaultWorkspace: staging,
    allowedExecutables: [installer.command],
    readOnly: [...settings.readOnly, ...installer.readOnly],
    protectedPaths: [],
    egressHosts: hostsFor(config, hosts),
    secrets: new Map(),
    loosestEgress: 'strict',
    defaults: {
      ...settings.defaults,
      wallMs,
      cpuMs,
      egressBytes,
      memoryBytes: Math.min(4 * GIB, memoryBytes),
    },
  };
}
