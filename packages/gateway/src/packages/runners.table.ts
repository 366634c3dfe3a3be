/** Programs that fetch a package and start it, as the settings of clients and the READMEs of servers name them. */

export type RegistryKind = 'npm' | 'pypi';

export type RunnerRow = {
  /** The words that a command line of it begins with. */
  readonly words: readonly string[];
  readonly registry: RegistryKind;
  readonly options: RunnerOptions;
  /** Whether it reads options behind the package too, up to a `--`. */
  readonly readsOn?: true;
};

/** The options that are understood; any other is refused. */
export type RunnerOptions = {
  /** Only change what the runner asks, prints or keeps. */
  readonly switches: readonly string[];
  /** Name the package that has the program. */
  readonly package: readonly string[];
  /** Name packages to fetch besides. */
  readonly beside: readonly string[];
};

const NPM: RunnerOptions = {
  switches: ['-y', '--yes', '-q', '--quiet', '--silent', '--prefer-online', '--prefer-offline'],
  package: ['-p', '--package'],
  beside: [],
};
const UV: RunnerOptions = {
  switches: '-q --quiet -v --verbose --isolated --refresh --no-cache -n -U --upgrade --no-progress'.split(
    ' ',
  ),
  package: ['--from'],
  beside: ['--with', '-w'],
};
const PIPX: RunnerOptions = {
  switches: ['-q', '--quiet', '--verbose', '--no-cache'],
  package: ['--spec'],
  beside: ['--with'],
};

export const RUNNERS: readonly RunnerRow[] = [
  { words: ['npx'], registry: 'npm', options: NPM },
  { words: ['npm', 'exec'], registry: 'npm', options: NPM, readsOn: true },
  { words: ['npm', 'x'], registry: 'npm', options: NPM, readsOn: true },
  { words: ['bunx'], registry: 'npm', options: NPM },
  { words: ['bun', 'x'], registry: 'npm', options: NPM },
  { words: ['pnpx'], registry: 'npm', options: NPM },
  { words: ['pnpm', 'dlx'], registry: 'npm', options: NPM },
  { words: ['yarn', 'dlx'], registry: 'npm', options: NPM },
  { words: ['uvx'], registry: 'pypi', options: UV },
  { words: ['uv', 'tool', 'run'], registry: 'pypi', options: UV },
  { words: ['pipx', 'run'], registry: 'pypi', options: PIPX },
];

/** Programs that start a container, which needs more rights than a jail has. */
export const CONTAINER_RUNNERS: readonly (readonly string[])[] = [
  ['docker', 'run'],
  ['docker', 'container', 'run'],
  ['podman', 'run'],
  ['nerdctl', 'run'],
];
