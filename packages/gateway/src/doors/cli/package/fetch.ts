/*
 * Fetches the packages of a command line: an installer of this machine runs in a jail, by a call of the line; what it left
 * is copied to the store under its digest; then one transaction makes that the package of its source.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../config/load.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { quote } from '../../../core/hostile-text.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { formatPrincipal, type Principal } from '../../../core/principal.ts';
import { administer, requireAdministrator } from '../../../invoke/administer.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { type ResolvedPackage, readInstalled, readResolved } from '../../../packages/installed.ts';
import { programOf } from '../../../packages/packaged-server.ts';
import { type PackagePin, pinPackage } from '../../../packages/pins.ts';
import { type PackageCommand, sourceOf } from '../../../packages/read-command.ts';
import { keepPackage, packagesIn } from '../../../packages/store.ts';
import { ForbiddenPlaces } from '../../../runner/forbidden.ts';
import { callOf } from '../make-call.ts';
import { outputOf } from '../nouns/exec.ts';
import { withGateway } from '../opened.ts';
import type { Invocation } from '../verb.ts';
import { FETCH_TOOL, fetchTool, hostsFor } from './fetch-tool.ts';
import { gather, type InstallStep, layOut, REPORT } from './installers.ts';
import { withProgress } from './progress.ts';
import { type Registry, registryOf } from './registry.ts';

/** A directory that commands may work in, also those of other users of palisade. */
const STAGED_IN = '/var/tmp/palisade-fetch-';

/** What is fetched, for whom, and from where. */
export type FetchOrder = {
  readonly command: PackageCommand;
  readonly by: Principal;
  /** Hosts that the installer may reach besides those of the registry. */
  readonly allowHosts: readonly string[];
  /** Asks a person, who sees what would be fetched, where that is known; nothing is fetched after a no. */
  readonly confirm?: (offer: FetchOffer) => Promise<boolean>;
};

export type FetchOffer = { readonly host: string; readonly resolved: ResolvedPackage | null };

/** The package as it is pinned from now on; null where a person did not want it. */
export async function fetchPackage(invocation: Invocation, order: FetchOrder): Promise<PackagePin | null> {
  const { edge, stateDir } = invocation;
  const { command, allowHosts } = order;
  const registry = registryOf(invocation, command.registry, allowHosts);
  const config = await loadConfig({ stateDir: stateDir.path });
  const staging = mkdtempSync(STAGED_IN);
  try {
    const installer = layOut(command.registry, { staging, packages: command.packages, registry });
    const forbidden = new ForbiddenPlaces({ stateDir: stateDir.path, home: edge.env.home });
    const { hosts } = registry;
    const tool = fetchTool({ installer, staging, hosts, config, clock: edge.clock, forbidden });
    const act = (gateway: Opened<Gateway>) => fetchBy(invocation, gateway, { ...order, staging, registry });
    return await withGateway(invocation, act, { tools: [tool], upstreams: [] });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

type Fetching = FetchOrder & { readonly staging: string; readonly registry: Registry };

async function fetchBy(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  fetching: Fetching,
): Promise<PackagePin | null> {
  const { command, staging, by } = fetching;
  const { tenant } = gateway.config.gateway;
  requireAdministrator(gateway, by, tenant);
  const source = sourceOf(command);
  const install = (step: InstallStep) => runStep(invocation, gateway, fetching, step);
  const step = await agreedStep(fetching, install);
  if (step === null) return null;
  const callId = await install(step);
  const { registry, packages } = command;
  const tree = gather(registry, staging);
  const report = join(staging, REPORT);
  const kept = keepPackage(packagesIn(invocation.stateDir.path), tree, (copy) => {
    const installed = readInstalled(copy, { registry, packages, report });
    requireProgram(source, installed, command);
    return installed;
  });
  const nowMs = gateway.clock.nowMs();
  const pin = { ...kept, source, registry, fetchedBy: formatPrincipal(by), fetchedAtMs: nowMs, call: callId };
  await administer(gateway, { by, tenant }, (tx) => {
    pinPackage(tx, pin);
    const { version, integrity, digest } = pin;
    const body = { source, version, integrity, digest, call: callId };
    gateway.journal.append(tx, { kind: 'package-pinned', principal: formatPrincipal(by), tenant, body });
  });
  return pin;
}

/** The step that is left once a person has seen what would be fetched; null after a no. */
async function agreedStep(
  { command, staging, registry, confirm }: Fetching,
  install: (step: InstallStep) => Promise<string>,
): Promise<InstallStep | null> {
  if (confirm === undefined) return 'install';
  const { host } = new URL(registry.url);
  if (command.registry !== 'npm') return (await confirm({ host, resolved: null })) ? 'install' : null;
  await install('resolve');
  const resolved = readResolved(staging, command.packages);
  return (await confirm({ host, resolved })) ? 'install-resolved' : null;
}

/** Runs one step of the installer by a call of the line, and gives the id of the call. */
async function runStep(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  { command, by, registry, staging }: Fetching,
  step: InstallStep,
): Promise<string> {
  const source = sourceOf(command);
  const wanted = { principal: by, tool: FETCH_TOOL, rawInput: JSON.stringify({ source, step }) };
  const call = callOf(invocation, gateway, wanted);
  const hosts = hostsFor(gateway.config, registry.hosts);
  const progress = { staging, what: `${step === 'resolve' ? 'looking up' : 'fetching'}  ${source}` };
  const { callId, outcome } = await withProgress(invocation, progress, () =>
    invoke(gateway, call, invocation.signal, { hosts }),
  );
  requireOk(source, outcome);
  return callId;
}

/** The output of an installer that failed, for its user to read. */
export class FetchFailure extends CodedError {
  readonly output: string;

  constructor(message: string, output: string) {
    super('package/fetch-failed', message);
    this.output = output;
  }
}

/** An installer that exits with an error is a failed fetch; a refusal of the line keeps its own message. */
function requireOk(source: string, outcome: Outcome): void {
  if (outcome.status === 'ok') return;
  if (outcome.code !== 'tier/exited')
    throw new CodedError(outcome.code, outcome.message, { remedy: outcome.remedy });
  const { exitCode = null, signal = null, stdout = '', stderr = '' } = outputOf(outcome);
  const how = signal === null ? `exited with status ${exitCode}` : `was killed by ${signal}`;
  const printed = `${stdout.trim()}\n${stderr.trim()}`.trim();
  throw new FetchFailure(`Cannot fetch ${quote(source)}: the installer ${how}, expected 0`, printed);
}

/** Boundary: a package without the program that the command names is not pinned for it. */
export function requireProgram(
  source: string,
  installed: Pick<PackagePin, 'programs' | 'main'>,
  command: PackageCommand,
): void {
  if (programOf(installed, command) !== null) return;
  const { program } = command;
  const names = Object.keys(installed.programs);
  const is =
    program === null ? 'it is not clear which program to run' : `it has no program ${quote(program)}`;
  const expected = names.length === 0 ? 'a package with a program' : `one of ${names.map(quote).join(', ')}`;
  throw new CodedError('package/refused', `Cannot use ${quote(source)}: ${is}, expected ${expected}`, {
    remedy: 'Name the package and the program: `npx -p PACKAGE PROGRAM`, `uvx --from PACKAGE PROGRAM`.',
  });
}
