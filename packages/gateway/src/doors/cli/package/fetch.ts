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
import { readInstalled } from '../../../packages/installed.ts';
import { programOf } from '../../../packages/packaged-server.ts';
import { type PackagePin, pinPackage } from '../../../packages/pins.ts';
import { type PackageCommand, sourceOf } from '../../../packages/read-command.ts';
import { keepPackage, packagesIn } from '../../../packages/store.ts';
import { ForbiddenPlaces } from '../../../runner/forbidden.ts';
import { listOf } from '../input.ts';
import { callOf } from '../make-call.ts';
import { outputOf } from '../nouns/exec.ts';
import { withGateway } from '../opened.ts';
import type { Invocation } from '../verb.ts';
import { FETCH_TOOL, fetchTool, hostsFor } from './fetch-tool.ts';
import { gather, layOut, REPORT } from './installers.ts';
import { registryOf } from './registry.ts';

/** A directory that commands may work in, also those of other users of palisade. */
const STAGED_IN = '/var/tmp/palisade-fetch-';

/** The package as it is pinned from now on. */
export async function fetchPackage(
  invocation: Invocation,
  command: PackageCommand,
  by: Principal,
): Promise<PackagePin> {
  const { edge, stateDir } = invocation;
  const registry = registryOf(invocation, command.registry, listOf(invocation, 'allow-host'));
  const config = await loadConfig({ stateDir: stateDir.path });
  const staging = mkdtempSync(STAGED_IN);
  try {
    const installer = layOut(command.registry, { staging, packages: command.packages, registry });
    const forbidden = new ForbiddenPlaces({ stateDir: stateDir.path, home: edge.env.home });
    const { hosts } = registry;
    const tool = fetchTool({ installer, staging, hosts, config, clock: edge.clock, forbidden });
    const act = (gateway: Opened<Gateway>) => fetchBy(invocation, gateway, { command, staging, hosts, by });
    return await withGateway(invocation, act, { tools: [tool], upstreams: [] });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

type Fetching = {
  readonly command: PackageCommand;
  readonly staging: string;
  readonly hosts: readonly string[];
  readonly by: Principal;
};

async function fetchBy(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  { command, staging, hosts, by }: Fetching,
): Promise<PackagePin> {
  const { tenant } = gateway.config.gateway;
  requireAdministrator(gateway, by, tenant);
  const source = sourceOf(command);
  const wanted = { principal: by, tool: FETCH_TOOL, rawInput: JSON.stringify({ source }) };
  const call = callOf(invocation, gateway, wanted);
  const { callId, outcome } = await invoke(gateway, call, invocation.signal, {
    hosts: hostsFor(gateway.config, hosts),
  });
  requireOk(source, outcome);
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
