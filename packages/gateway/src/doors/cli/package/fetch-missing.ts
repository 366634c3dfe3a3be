/*
 * The package of a server that a command is about to start or to wrap, where it was not fetched yet. It is fetched on the
 * word of an operator alone: the flag --fetch, or an answer at a terminal. Without either, nothing is fetched, and the
 * server says how to do it when it is started.
 */
import { CodedError } from '../../../core/coded-error.ts';
import { programOf } from '../../../packages/packaged-server.ts';
import { type PackagePin, packagePin } from '../../../packages/pins.ts';
import { type PackageCommand, readPackageCommand, sourceOf } from '../../../packages/read-command.ts';
import { canAsk, openQuestions } from '../ask.ts';
import { principalOf } from '../input.ts';
import { withRecords } from '../opened.ts';
import { counted, type Printer, printError } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import { FetchFailure, type FetchOffer, fetchPackage } from './fetch.ts';

/** Whether the package is there now: it was before, or was fetched. A command without a package needs none. */
export async function fetchMissing(invocation: Invocation, argv: readonly string[]): Promise<boolean> {
  const read = readPackageCommand(argv);
  if (read === null || !read.ok) return read === null;
  const command = read.value;
  const { flags, print } = invocation;
  const pin = await withRecords(invocation, ({ store }) => packagePin(store, sourceOf(command)));
  if (pin !== null && programOf(pin, command) !== null) return true;
  if (flags.fetch !== true && !canAsk(invocation)) return false;
  // Boundary: --as names the client here, which is an agent; only the person who runs the command can fetch.
  const by = principalOf({ ...invocation, flags: {} });
  const asks =
    flags.fetch === true ? {} : { confirm: (offer: FetchOffer) => ask(invocation, command, offer) };
  // The hosts of --allow-host are those of the server.
  const fetched = await fetchPackage(invocation, { command, by, allowHosts: [], ...asks });
  if (fetched !== null) print.note('fetched', 'green', `  ${fetchedLine(fetched)}`);
  return fetched !== null;
}

async function ask(invocation: Invocation, command: PackageCommand, offer: FetchOffer): Promise<boolean> {
  const questions = openQuestions(invocation);
  try {
    return await questions.ask(questionOf(command, offer));
  } finally {
    questions.close();
  }
}

/** Names what would be fetched, from where, and how much that is. */
export function questionOf({ packages }: PackageCommand, { host, resolved }: FetchOffer): string {
  const names = packages.join(', ');
  if (resolved === null) return `Fetch ${names} from ${host} (wheels only, nothing of them runs)?`;
  const { version, packages: count, scripted } = resolved;
  const named = names.endsWith(`@${version}`) ? names : `${names} (version ${version})`;
  const scripts = scripted.length === 0 ? 'no install scripts' : scriptsNote(scripted);
  return `Fetch ${named} from ${host}: ${counted(count, 'package')}, ${scripts}?`;
}

const MOST_NAMES = 5;

/** Says whose install scripts do not run. */
export function scriptsNote(scripted: readonly string[]): string {
  const names = scripted.slice(0, MOST_NAMES).join(', ');
  const more = scripted.length > MOST_NAMES ? ` and ${scripted.length - MOST_NAMES} more` : '';
  return `the install scripts of ${names}${more} do not run`;
}

export function fetchedLine({ source, version, files, bytes }: PackagePin, was = ''): string {
  return `${source}  version ${version}${was}  ${files} files  ${bytes} bytes`;
}

/** Prints why a package could not be fetched, with what the installer printed; gives the exit status. */
export function printFetchError(print: Printer, error: unknown): number {
  if (!(error instanceof CodedError)) throw error;
  const output = error instanceof FetchFailure ? error.output : '';
  if (output === '') return printError(print, error);
  // The output is untrusted text: each line is indented, so that none looks like a line of palisade.
  for (const line of print.json ? [] : output.split(/\r?\n/))
    print.note(`  ${line.replaceAll('\t', '    ')}`);
  return printError(print, error, { output });
}
