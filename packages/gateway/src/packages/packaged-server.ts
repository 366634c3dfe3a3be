/*
 * An upstream server that is configured with a command line such as `npx -y @acme/server`: its command becomes the program
 * of the package that an operator fetched. Nothing is fetched here. The command has the digest of the package in it, so
 * that another package is another command, which the pin of the server's tools does not cover.
 */
import { join } from 'node:path';
import type { UpstreamRule } from '../config/config.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Digest } from '../core/digest.ts';
import { shellWord } from '../core/hostile-text.ts';
import { sentenceOf } from '../core/result.ts';
import type { Reader } from '../store/transaction.ts';
import { type PackagePin, packagePin } from './pins.ts';
import { type PackageCommand, readPackageCommand, sourceOf } from './read-command.ts';
import { requirePackage } from './store.ts';

type Place = {
  readonly reader: Reader;
  /** Of the packages. */
  readonly directory: string;
  /** The program that runs packages of npm, and what else of it a jail has to be shown. */
  readonly node: { readonly command: string; readonly readOnly: readonly string[] };
};

/** The rule with the command of its package, where that was fetched; any other as it is. */
export function packagedServer(rule: UpstreamRule, { reader, directory, node }: Place): UpstreamRule {
  const read = readPackageCommand(rule.command);
  if (read === null || !read.ok) return rule;
  const pin = packagePin(reader, sourceOf(read.value));
  const program = pin === null ? null : programOf(pin, read.value);
  if (pin === null || program === null) return rule;
  const tree = join(directory, pin.digest);
  const [lead, shown] = pin.registry === 'npm' ? [[node.command], node.readOnly] : [['python3', '-IB'], []];
  return {
    ...rule,
    command: [...lead, join(tree, program), ...read.value.args],
    readOnly: [...rule.readOnly, tree, ...shown],
    package: { directory, digest: pin.digest },
  };
}

/** The path of the program that a command runs; null where the package lacks it, or has several and none is named. */
export function programOf(
  { programs, main }: Pick<PackagePin, 'programs' | 'main'>,
  { program }: Pick<PackageCommand, 'program'>,
): string | null {
  const name = program ?? main;
  return name !== null && Object.hasOwn(programs, name) ? (programs[name] ?? null) : null;
}

/** Refuses a server whose package was not fetched, or is no longer what was fetched. */
export function requireWhole(rule: UpstreamRule): void {
  requireFetched(rule);
  const { package: found } = rule;
  if (found !== undefined) requirePackage(found.directory, found.digest as Digest);
}

/** Refuses a server whose package was not fetched; its files are not read. The flag is for the command that fetches it. */
export function requireFetched({ name, command, package: found }: UpstreamRule, stateFlag = ''): void {
  const read = found === undefined ? readPackageCommand(command) : null;
  if (read === null) return;
  if (!read.ok) {
    const { hint } = read.problem;
    throw new CodedError('package/refused', sentenceOf(read.problem), { remedy: hint });
  }
  const fetch = `palisade package add${stateFlag} -- ${command.map(shellWord).join(' ')}`;
  throw new CodedError(
    'package/unknown',
    `Cannot start "${name}": its package was not fetched, expected \`${fetch}\` before`,
    { remedy: `Run \`${fetch}\`.` },
  );
}
