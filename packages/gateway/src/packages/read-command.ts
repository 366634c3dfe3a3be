/*
 * Reads the command line of a program that fetches a package and starts it. Pure: words go in; the packages, the program
 * and its arguments come out. The words come from the settings of a client, which anyone may have written: an option that
 * is not in the table is refused, as it could change what is fetched or run, and a package is named by its registry alone,
 * never by an address, a path or a repository.
 */
import { basename } from 'node:path';
import { quote } from '../core/hostile-text.ts';
import { accept, type Problem, type Result, reject } from '../core/result.ts';
import { CONTAINER_RUNNERS, type RegistryKind, RUNNERS, type RunnerRow } from './runners.table.ts';

/** A package that is to be run, and with what. */
export type PackageCommand = {
  readonly registry: RegistryKind;
  /** What is fetched, in the words of the registry's own installer; the first has the program. */
  readonly packages: readonly string[];
  /** The program of the package; null: the one that it has, or that has its name. */
  readonly program: string | null;
  readonly args: readonly string[];
};

type Read = Result<PackageCommand>;

/** The package of a command line; null where it is not one of a program that fetches packages. */
export function readPackageCommand(command: readonly string[]): Read | null {
  const [program = '', ...rest] = command;
  const words = [basename(program), ...rest];
  const container = CONTAINER_RUNNERS.find((row) => beginsWith(words, row));
  if (container !== undefined) {
    const hint =
      'Wrap the npm or PyPI package of the server with its npx or uvx command line, or its program: most READMEs name one beside the image.';
    return unfit(command, 'it starts a container, and a jail cannot', 'a package or a program', hint);
  }
  const row = RUNNERS.find((each) => beginsWith(words, each.words));
  return row === undefined ? null : readWith(row, words.slice(row.words.length));
}

/** Identifies what a command line fetches: the same for all runners of a registry. */
export function sourceOf({ registry, packages }: Pick<PackageCommand, 'registry' | 'packages'>): string {
  return `${registry}:${packages.join(' ')}`;
}

function beginsWith(words: readonly string[], start: readonly string[]): boolean {
  return start.every((word, index) => words[index] === word);
}

type Options = {
  readonly named: readonly string[];
  readonly beside: readonly string[];
  readonly end: number;
};

function readWith(row: RunnerRow, words: readonly string[]): Read {
  const options = readOptions(row, words);
  if (!options.ok) return options;
  const { named, beside, end } = options.value;
  const [first, ...rest] = words.slice(end);
  if (first === undefined)
    return unfit(
      row.words,
      'it names nothing to run',
      'the name of a package',
      'Add its name to the command.',
    );
  // Behind a `--`, no runner reads on.
  const args = words[end - 1] === '--' ? accept(rest) : argumentsOf(row, rest);
  if (!args.ok) return args;
  const specs = [...(named.length === 0 ? [first] : named), ...beside].map((raw) =>
    readSpec(row.registry, raw),
  );
  const bad = specs.find((spec) => !spec.ok);
  if (bad !== undefined && !bad.ok) return bad;
  const packages = specs.flatMap((spec) => (spec.ok ? [spec.value] : []));
  const program = named.length === 0 ? null : first;
  if (program !== null && !PROGRAM.test(program))
    return unfit([program], 'it is not the name of a program', 'letters, digits, ".", "_" and "-"', PLAIN);
  return accept({ registry: row.registry, packages, program, args: args.value });
}

const PLAIN = 'Write the command as the README of the package does.';
const PROGRAM = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

/** Reads up to the first word that is not an option. */
function readOptions({ words: runner, options }: RunnerRow, words: readonly string[]): Result<Options> {
  const found = { named: [] as string[], beside: [] as string[] };
  const known = [...options.switches, ...options.package, ...options.beside];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (word === '--') return accept({ ...found, end: index + 1 });
    if (!word.startsWith('-')) return accept({ ...found, end: index });
    const [name = '', ...assigned] = word.split('=');
    if (options.switches.includes(word)) continue;
    // Boundary: an option that is not understood could change what is fetched or started.
    if (options.switches.includes(name) || !known.includes(name)) {
      const is = `the option ${quote(word)} is not supported`;
      return unfit([...runner, word], is, known.join(', '), LEAVE_OUT);
    }
    if (assigned.length === 0) index += 1;
    const value = assigned.length === 0 ? words[index] : assigned.join('=');
    if (value === undefined)
      return unfit([...runner, word], `${quote(name)} has no value`, 'the name of a package', PLAIN);
    (options.package.includes(name) ? found.named : found.beside).push(value);
  }
  return accept({ ...found, end: words.length });
}

const LEAVE_OUT = 'Leave the option out; the package is fetched once, by `palisade package add`.';

/** The arguments of the program, behind the package. */
function argumentsOf({ words, readsOn }: RunnerRow, rest: readonly string[]): Result<readonly string[]> {
  if (readsOn !== true) return accept(rest);
  const end = rest.indexOf('--');
  const before = end < 0 ? rest : rest.slice(0, end);
  const read = before.find((word) => word.startsWith('-'));
  if (read === undefined) return accept(end < 0 ? rest : [...before, ...rest.slice(end + 1)]);
  const is = `${quote(words.join(' '))} would read ${quote(read)} itself`;
  return unfit([...words, read], is, '"--" before the arguments of the program', 'Put "--" before it.');
}

const NPM_SPEC =
  /^((?:@[a-z0-9-~][a-z0-9-._~]*\/)?[a-zA-Z0-9-~][a-zA-Z0-9-._~]*)(?:@([a-zA-Z0-9^~<>=*|+._-]+))?$/;
const PYPI_SPEC =
  /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9,._-]+\])?)(?:@([A-Za-z0-9._+!-]+)|((?:[=!<>~]=|[<>])[A-Za-z0-9=!<>~,.*+_-]+))?$/;
const SPEC_CHARS = 256;
/** What a registry gives where no version is named. */
const LATEST = 'latest';

/** Boundary: only names and versions of the registry pass; addresses, paths and repositories are other sources. */
function readSpec(registry: RegistryKind, raw: string): Result<string> {
  const read = registry === 'npm' ? readNpmSpec : readPypiSpec;
  const spec = raw.length > SPEC_CHARS || raw.startsWith('-') ? null : read(raw);
  if (spec !== null) return accept(spec);
  const expected =
    registry === 'npm' ? '"name", "@scope/name" or "name@1.2.3"' : '"name", "name[extra]" or "name==1.2.3"';
  const hint =
    'Name a package of the registry; install anything else yourself and wrap the installed program with --read-only.';
  return unfit([raw], 'it is not the name of a package', expected, hint);
}

function readNpmSpec(raw: string): string | null {
  const [, name, version] = NPM_SPEC.exec(raw) ?? [];
  if (name === undefined) return null;
  return version === undefined || version === LATEST ? name : `${name}@${version}`;
}

function readPypiSpec(raw: string): string | null {
  const [, name, version, range = ''] = PYPI_SPEC.exec(raw) ?? [];
  if (name === undefined) return null;
  return version === undefined || version === LATEST ? `${name}${range}` : `${name}==${version}`;
}

function unfit(
  subject: readonly string[],
  is: string,
  expected: string,
  hint: string,
): { readonly ok: false; readonly problem: Problem } {
  return reject({ subject: `the command ${quote(subject.join(' '))}`, is, expected, hint });
}
