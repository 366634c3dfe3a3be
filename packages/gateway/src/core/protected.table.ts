/**
 * Files that run by themselves later, outside of any sandbox: opening the folder, entering it, an everyday git command,
 * a shell, the next agent or a push is enough. A command in tier C cannot leave them written unless its call was
 * allowed to write the row. What only runs when a person builds, tests or installs is not here: doing that means
 * trusting the files.
 *
 * A pattern applies at every depth, ignoring case; `*` is any part of a name, `**` any number of names. `.git` stands
 * for every directory that git takes for a repository, whatever it is called.
 */

/**
 * How a written file is judged. `any`: every write counts. The others look at the content, because ordinary work writes
 * such files: git configuration is cut down to keys that run nothing, the rest counts as a whole.
 */
type Judgement =
  | 'any'
  | 'git-config'
  | 'git-index'
  | 'git-pointer'
  | 'git-todo'
  | 'hg-config'
  | 'jj-config'
  | 'tool-versions'
  | 'vs-code'
  | 'idea';

export type ProtectedRow = {
  readonly patterns: string;
  readonly judged: Judgement;
  /** `set aside`: it is moved to the quarantine and what was there before is restored. `told`: it is a finding. */
  readonly done: 'set aside' | 'told';
  /** Who runs or trusts it, and when. */
  readonly sentence: string;
};

export const PROTECTED = {
  'git-hooks': {
    patterns: '.git/hooks/** .git/modules/**/hooks/**',
    judged: 'any',
    done: 'set aside',
    sentence: 'Git runs hooks at commits, checkouts, merges and pushes.',
  },
  'git-config': {
    patterns:
      '.git/config .git/config.worktree .git/modules/**/config .git/worktrees/*/config.worktree .gitconfig .config/git/config',
    judged: 'git-config',
    done: 'set aside',
    sentence: 'Git runs the programs that its configuration names, at a mere status.',
  },
  'git-index': {
    patterns: '.git/index .git/sharedindex.*',
    judged: 'git-index',
    done: 'set aside',
    sentence:
      'Git writes the paths that it names at a checkout, also hooks and files outside of the work tree.',
  },
  'git-layout': {
    patterns: '.git .git/commondir .git/worktrees/*/commondir .git/objects/info/alternates .hg/sharedpath',
    judged: 'git-pointer',
    done: 'set aside',
    sentence: 'It sends git to a repository elsewhere, with its own hooks and configuration.',
  },
  'git-todo': {
    patterns: '.git/rebase-merge/git-rebase-todo .git/worktrees/*/rebase-merge/git-rebase-todo',
    judged: 'git-todo',
    done: 'set aside',
    sentence: 'Git runs its exec lines when the rebase goes on.',
  },
  'hook-managers': {
    patterns:
      '.husky/** .huskyrc* .githooks/** .git-hooks/** .pre-commit-config.y*ml lefthook.* lefthook-local.* .lefthook.* .lefthook-local.* .lefthook/** .config/lefthook* .overcommit.yml captainhook.json .simple-git-hooks.*',
    judged: 'any',
    done: 'set aside',
    sentence: 'Where hooks are installed, git runs what it names at every commit.',
  },
  mercurial: {
    patterns: '.hg/hgrc .hg/hgrc-not-shared .sl/config',
    judged: 'hg-config',
    done: 'set aside',
    sentence: 'Mercurial and Sapling run the hooks, aliases and extensions it names.',
  },
  jujutsu: {
    patterns: '.jj/repo/config.toml .jj/config.toml .jj/workspace-config.toml',
    judged: 'jj-config',
    done: 'set aside',
    sentence: 'Jujutsu runs the pagers, editors, tools and aliases it names.',
  },
  'tool-versions': {
    patterns: '.tool-versions',
    judged: 'tool-versions',
    done: 'set aside',
    sentence: 'asdf and mise take programs from the directories that it names.',
  },
  'directory-scripts': {
    patterns:
      '.envrc .direnv/** .autoenv* mise.toml mise.*.toml .mise.toml .mise.*.toml mise/config*.toml .mise/** .config/mise* .config/mise/**',
    judged: 'any',
    done: 'set aside',
    sentence: 'direnv, autoenv and mise run it when a user enters the directory.',
  },
  'editor-settings': {
    patterns:
      '.vscode .vscode/settings.json .vscode/tasks.json *.code-workspace .zed .zed/*.json .vs/tasks.vs.json',
    judged: 'vs-code',
    done: 'set aside',
    sentence: 'Editors take programs and tasks from it when the folder is opened.',
  },
  'jetbrains-settings': {
    patterns: '.idea/** *.iws *.ipr',
    judged: 'idea',
    done: 'set aside',
    sentence: 'JetBrains editors run start-up tasks and file watchers when the folder is opened.',
  },
  'editor-scripts': {
    patterns:
      '.exrc .nvimrc .nvim.lua .lvimrc .vimrc _vimrc .dir-locals.el .dir-locals-2.el .helix/** .ycm_extra_conf.py',
    judged: 'any',
    done: 'set aside',
    sentence: 'Vim, Emacs and Helix run it, or programs that it names, for files of its directory.',
  },
  'dev-containers': {
    patterns: '.devcontainer/** .devcontainer.json .gitpod.y*ml .idx/** .codesandbox/**',
    judged: 'any',
    done: 'set aside',
    sentence: 'Editors start containers, with mounts and commands of the host, from it.',
  },
  'agent-settings': {
    patterns:
      '.mcp.json mcp.json .vscode/mcp.json .claude/** .claude.json .cursor/** .codex/** .gemini/** .qwen/** .windsurf/** .cline/** .roo/** .continue/** .kiro/** .opencode/** opencode.json* .aider.conf.yml .agents/** .amazonq/** .junie/** .factory/** .trae/** .copilot/** .github/agents/** .github/hooks/** .openhands/** .augment/** .kilocode/** .amp/** .pi/** crush.json .crush.json',
    judged: 'any',
    done: 'set aside',
    sentence: 'Agents take permissions, hooks, commands and servers to start from it.',
  },
  'agent-instructions': {
    patterns:
      'CLAUDE.md CLAUDE.local.md AGENTS.md AGENTS.override.md AGENT.md GEMINI.md .cursorrules .windsurfrules .clinerules .clinerules/** .github/copilot-instructions.md .github/instructions/** .github/prompts/** .github/skills/** .goosehints .rules',
    judged: 'any',
    done: 'told',
    sentence: 'Agents take it for instructions.',
  },
  'shell-start': {
    patterns:
      '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_completion .profile .zshrc .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc .kshrc .login .logout .inputrc .config/fish/** .xprofile .xinitrc .xsession .pam_environment',
    judged: 'any',
    done: 'set aside',
    sentence: 'The shell or the session runs it when it starts, for a workspace that is a home directory.',
  },
  'login-items': {
    patterns:
      '.config/autostart/** .config/systemd/** .config/environment.d/** Library/LaunchAgents/** .ssh/** .gnupg/**',
    judged: 'any',
    done: 'set aside',
    sentence: 'The desktop, systemd, OpenSSH or GnuPG start programs from it or let others in by it.',
  },
  'program-start': {
    patterns:
      '.gdbinit .lldbinit .Rprofile .Renviron .ghci .ocamlinit .iex.exs .erlang .octaverc .perldb .pdbrc .gnuplot .irbrc .pryrc .psqlrc .sqliterc .tmux.conf .screenrc .curlrc .wgetrc .docker/config.json .kube/config .aws/config',
    judged: 'any',
    done: 'set aside',
    sentence: 'The program of that name runs commands from it when it starts there.',
  },
  ci: {
    patterns:
      '.github .github/workflows/** .github/actions/** .gitlab .gitlab-ci.y*ml .gitlab/ci/** Jenkinsfile* .circleci/** .travis.y*ml .drone.y*ml .woodpecker.y*ml .woodpecker/** .buildkite/** .forgejo/workflows/** .gitea/workflows/** azure-pipelines*.y*ml .azure-pipelines/** .cirrus.y*ml .cirrus.star .semaphore/** .tekton/** .teamcity/** buildspec*.y*ml .build.y*ml .builds/** .zuul.y*ml .zuul.d/** zuul.d/** bitrise.yml codemagic.yaml bitbucket-pipelines.yml appveyor.y*ml .appveyor.yml cloudbuild.y*ml',
    judged: 'any',
    done: 'set aside',
    sentence: 'The service runs it after a push, with the secrets of the project.',
  },
} as const satisfies Record<string, ProtectedRow>;

export type ProtectedName = keyof typeof PROTECTED;
export const PROTECTED_NAMES = Object.keys(PROTECTED) as readonly ProtectedName[];

/** A file that is larger counts as dangerous unread; an index has about 100 bytes for each file of a repository. */
export function maxBytesOf(row: ProtectedName): number {
  return (row === 'git-index' ? 64 : 1) * 1024 * 1024;
}

/**
 * These act through the repository that they are in: a push of it, hooks that were installed in it. In a repository that
 * the run made, as a clone does, they are left, as long as every repository from before the run is still in its place.
 */
export const ROWS_OF_REPOSITORY: readonly ProtectedName[] = ['ci', 'hook-managers'];

/** In these every package brings files of such names, which nothing opens by itself; there only git is looked for. */
export const PACKAGE_FOLDERS: readonly string[] = ['node_modules', 'site-packages', 'dist-packages'];
export const ROWS_IN_PACKAGES: readonly ProtectedName[] = [
  'git-hooks',
  'git-config',
  'git-index',
  'git-layout',
  'git-todo',
];
