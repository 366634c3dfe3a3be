/**
 * Version managers and tool chains that people install into their home directories. With `process.tool_homes`, a command
 * may read and run them. A row lists what is shown, by paths below the home in which `*` matches any name or part of one:
 * programs and libraries, never a file in which the tool keeps credentials or settings of the user (`.cargo/credentials`,
 * `.npmrc` and `etc/npmrc`, `.config`). The first directory of `path` that has a program comes first.
 */
export type ToolHome = {
  readonly name: string;
  readonly sentence: string;
  /** What is shown. */
  readonly shown: readonly string[];
  /** Directories in which programs are found; of several versions the default one, or else the newest. */
  readonly path: readonly string[];
  /** Variables, and the directories below the home that they name. */
  readonly variables?: Readonly<Record<string, string>>;
};

export const TOOL_HOMES: readonly ToolHome[] = [
  {
    name: 'nvm',
    sentence: 'Versions of Node. The highest is used.',
    shown: ['.nvm/nvm.sh', '.nvm/alias', ...node('.nvm/versions/node/*')],
    path: ['.nvm/versions/node/*/bin'],
    variables: { NVM_DIR: '.nvm' },
  },
  {
    name: 'fnm',
    sentence: 'Versions of Node. The default one is used.',
    shown: [
      '.local/share/fnm/fnm',
      '.local/share/fnm/aliases',
      ...node('.local/share/fnm/node-versions/*/installation'),
    ],
    path: ['.local/share/fnm/aliases/default/bin', '.local/share/fnm'],
    variables: { FNM_DIR: '.local/share/fnm' },
  },
  {
    name: 'volta',
    sentence: 'Node, npm, pnpm and yarn by project.',
    shown: [
      ...['.volta/bin', '.volta/layout.v*', '.volta/tools/user', '.volta/tools/inventory'],
      ...['npm', 'pnpm', 'yarn', 'packages'].map((each) => `.volta/tools/image/${each}`),
      ...node('.volta/tools/image/node/*'),
    ],
    path: ['.volta/bin'],
    variables: { VOLTA_HOME: '.volta' },
  },
  {
    name: 'bun',
    sentence: 'Bun, and what was installed with it for the user.',
    shown: ['.bun/bin', '.bun/install/global/node_modules'],
    path: ['.bun/bin'],
    variables: { BUN_INSTALL: '.bun' },
  },
  {
    name: 'deno',
    sentence: 'Deno, and the scripts that it installed.',
    shown: ['.deno/bin'],
    path: ['.deno/bin'],
    variables: { DENO_INSTALL: '.deno' },
  },
  {
    name: 'pyenv',
    sentence: 'Versions of Python, chosen by .python-version as outside.',
    shown: ['bin', 'libexec', 'plugins', 'pyenv.d', 'shims', 'version', 'versions'].map(
      (each) => `.pyenv/${each}`,
    ),
    path: ['.pyenv/shims', '.pyenv/bin'],
    variables: { PYENV_ROOT: '.pyenv' },
  },
  {
    name: 'uv',
    sentence: 'uv, its versions of Python and its tools.',
    shown: ['.local/bin/uv', '.local/bin/uvx', '.local/share/uv/python', '.local/share/uv/tools'],
    path: ['.local/bin'],
    variables: { UV_PYTHON_INSTALL_DIR: '.local/share/uv/python', UV_TOOL_DIR: '.local/share/uv/tools' },
  },
  {
    name: 'rust',
    sentence: 'cargo and rustup with their tool chains, and the crates that are there already.',
    shown: [
      ...['.cargo/bin', '.cargo/registry', '.cargo/git'],
      ...['.rustup/toolchains', '.rustup/settings.toml'],
    ],
    path: ['.cargo/bin'],
    variables: { CARGO_HOME: '.cargo', RUSTUP_HOME: '.rustup' },
  },
  {
    name: 'go',
    sentence: 'Programs of `go install`, and the modules that are there already.',
    shown: ['go/bin', 'go/pkg/mod', 'sdk/go*'],
    path: ['go/bin', 'sdk/go*/bin'],
    variables: { GOMODCACHE: 'go/pkg/mod' },
  },
  {
    name: 'sdkman',
    sentence: 'Java, Gradle, Maven and their relatives, each in its current version.',
    shown: ['.sdkman/candidates'],
    path: ['.sdkman/candidates/*/current/bin'],
    variables: { SDKMAN_DIR: '.sdkman', JAVA_HOME: '.sdkman/candidates/java/current' },
  },
  {
    name: 'asdf',
    sentence: 'Any languages, chosen by .tool-versions as outside.',
    shown: [
      ...['bin', 'lib', 'libexec', 'shims', 'plugins', 'asdf.sh'].map((each) => `.asdf/${each}`),
      ...prefix('.asdf/installs/*/*'),
    ],
    path: ['.asdf/shims', '.asdf/bin'],
    variables: { ASDF_DIR: '.asdf', ASDF_DATA_DIR: '.asdf' },
  },
  {
    name: 'mise',
    sentence: 'Any languages, chosen by mise.toml as outside.',
    shown: ['.local/bin/mise', '.local/share/mise/shims', ...prefix('.local/share/mise/installs/*/*')],
    path: ['.local/share/mise/shims', '.local/bin'],
    variables: { MISE_DATA_DIR: '.local/share/mise' },
  },
];

export const TOOL_HOME_NAMES: readonly string[] = TOOL_HOMES.map(({ name }) => name);

/** A version of Node without its etc, in which npm keeps tokens. */
function node(version: string): readonly string[] {
  return ['bin', 'include', 'lib', 'share'].map((each) => `${version}/${each}`);
}

/** A version of any language without its etc: what the languages put beside it. */
function prefix(version: string): readonly string[] {
  const parts = ['bin', 'include', 'lib', 'lib64', 'libexec', 'share', 'go', 'packages', 'conf', 'jmods'];
  return [...parts, 'release', 'legal'].map((each) => `${version}/${each}`);
}
