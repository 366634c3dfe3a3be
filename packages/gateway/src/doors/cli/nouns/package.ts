import { join } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { quote } from '../../../core/hostile-text.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import { sentenceOf } from '../../../core/result.ts';
import { administer } from '../../../invoke/administer.ts';
import { scriptedPackages } from '../../../packages/installed.ts';
import { type PackagePin, packagePin, packagePins, unpinPackage } from '../../../packages/pins.ts';
import { type PackageCommand, readPackageCommand, sourceOf } from '../../../packages/read-command.ts';
import { packagesIn, sweepPackages, whyNotWhole } from '../../../packages/store.ts';
import { listOf, principalOf, wrongUsage } from '../input.ts';
import { actAs, withRecords } from '../opened.ts';
import { fetchPackage, requireProgram } from '../package/fetch.ts';
import { fetchedLine, printFetchError, scriptsNote } from '../package/fetch-missing.ts';
import type { Invocation } from '../verb.ts';
import { PROBLEM_STATUS } from './doctor.ts';

/* The packages of MCP servers: an operator fetches them once, and servers start from what was fetched. */

export async function add(invocation: Invocation): Promise<number> {
  const { rest, print } = invocation;
  const read = readPackageCommand(rest);
  if (read === null)
    throw wrongUsage(
      `Cannot fetch for "${rest.join(' ')}": it is not a command line of npx, uvx or another program that fetches a package`,
      'Copy the command from the README of the server: `palisade package add -- npx -y PACKAGE`.',
    );
  if (!read.ok)
    throw new CodedError('package/refused', sentenceOf(read.problem), { remedy: read.problem.hint });
  const source = sourceOf(read.value);
  const before = await withRecords(invocation, ({ store }) => packagePin(store, source));
  const isThere =
    before !== null && whyNotWhole(packagesIn(invocation.stateDir.path), before.digest) === null;
  if (!isThere) return fetchAndPrint(invocation, read.value, before);
  requireProgram(source, before, read.value);
  print.result(documentOf(before), () =>
    print.line(`${source} was fetched before, as version ${before.version}.`),
  );
  print.next(`palisade package update ${quote(source)}`);
  return 0;
}

/** Fetches a package again, as the registry has it now. */
export async function update(invocation: Invocation): Promise<number> {
  const pin = await pinNamed(invocation);
  const program = pin.main ?? Object.keys(pin.programs)[0] ?? null;
  const packages = pin.source.slice(pin.registry.length + 1).split(' ');
  const command = { registry: pin.registry, packages, program, args: [] };
  return fetchAndPrint(invocation, command, pin);
}

async function fetchAndPrint(
  invocation: Invocation,
  command: PackageCommand,
  before: PackagePin | null,
): Promise<number> {
  const { print } = invocation;
  const allowHosts = listOf(invocation, 'allow-host');
  try {
    const pin = await fetchPackage(invocation, { command, by: principalOf(invocation), allowHosts });
    // Without a question, there is no one who could say no.
    if (pin !== null) printFetched(invocation, pin, before);
    return 0;
  } catch (error) {
    return printFetchError(print, error);
  }
}

function printFetched({ print, stateDir }: Invocation, pin: PackagePin, before: PackagePin | null): void {
  const { digest, call } = pin;
  const scripted = scriptedPackages(join(packagesIn(stateDir.path), digest));
  print.result(documentOf(pin), () => {
    const was = before === null ? '' : ` (was ${before.version}, ${before.digest.slice(0, 12)})`;
    print.styled('green', 'fetched', `  ${fetchedLine(pin, was)}`);
    print.facts([
      ['sha256', digest],
      ['programs', Object.keys(pin.programs).join(', ')],
      ['call', call],
    ]);
    if (scripted.length > 0) print.note('note', 'yellow', `  ${scriptsNote(scripted)}`);
    if (before !== null && before.digest !== digest)
      print.next(
        'its servers are in quarantine until you accept them: palisade upstream refresh NAME, then palisade upstream approve NAME',
      );
  });
}

export async function list(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const pins = await withRecords(invocation, ({ store }) => packagePins(store));
  return print.result({ packages: pins.map(documentOf) }, () => {
    const rows = pins.map((pin) => [
      pin.source,
      pin.version,
      pin.files,
      pin.bytes,
      pin.digest.slice(0, 12),
      pin.fetchedBy,
    ]);
    const none = 'No package was fetched.';
    print.table(['SOURCE', 'VERSION', 'FILES', 'BYTES', 'SHA256', 'FETCHED BY'], rows, none);
  });
}

/** Compares the files of one package or of all with what was fetched. */
export async function verify(invocation: Invocation): Promise<number> {
  const { args, print, stateDir } = invocation;
  const pins =
    args.length > 0
      ? [await pinNamed(invocation)]
      : await withRecords(invocation, ({ store }) => packagePins(store));
  const packages = pins.map(({ source, digest }) => ({
    source,
    why: whyNotWhole(packagesIn(stateDir.path), digest),
  }));
  print.result({ packages }, () => {
    for (const { source, why } of packages)
      print.styled(
        why === null ? 'green' : 'red',
        why === null ? '✓ ' : '✗ ',
        `${source}${why === null ? '' : `: ${why}`}`,
      );
  });
  return packages.every(({ why }) => why === null) ? 0 : PROBLEM_STATUS;
}

/** Removes a package, and the files of every one that is no longer pinned. */
export async function remove(invocation: Invocation): Promise<number> {
  const { print, stateDir } = invocation;
  const { source, digest } = await pinNamed(invocation);
  const left = await actAs(invocation, (gateway, acting) =>
    administer(gateway, acting, (tx) => {
      unpinPackage(tx, source);
      const principal = formatPrincipal(acting.by);
      gateway.journal.append(tx, {
        kind: 'package-removed',
        principal,
        tenant: acting.tenant,
        body: { source, digest },
      });
      return packagePins(tx);
    }),
  );
  sweepPackages(
    packagesIn(stateDir.path),
    left.map((pin) => pin.digest),
  );
  return print.result({ source, removed: true }, () => print.line(`${source} was removed.`));
}

async function pinNamed(invocation: Invocation): Promise<PackagePin> {
  const [source = ''] = invocation.args;
  const pin = await withRecords(invocation, ({ store }) => packagePin(store, source));
  if (pin !== null) return pin;
  throw new CodedError('package/unknown', `Cannot find the package ${quote(source)}: it was not fetched`);
}

function documentOf({ fetchedAtMs, ...pin }: PackagePin) {
  return { ...pin, fetchedAt: new Date(fetchedAtMs).toISOString() };
}
