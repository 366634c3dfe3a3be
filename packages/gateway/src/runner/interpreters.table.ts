/**
 * Programs that run what they are given. The list is a lint: a changed copy, a program of the caller's own or an
 * overlooked option evades it. It tells the policies what a command most likely is; Tier C does not depend on it.
 *
 * Names are without version: `python3.11`, `perl5.36.0` and `lua5.4` are looked up as `python`, `perl` and `lua`.
 */
import type { ExecutableKind } from '../core/process.ts';

/**
 * From the least to the most that a program does with its arguments; the most counts. A launcher starts another
 * program, which its arguments or a file of the caller's name.
 */
export const KINDS_BY_POWER: readonly ExecutableKind[] = ['plain', 'launcher', 'interpreter', 'shell'];

const SHELLS = `sh ash bash brush csh dash elvish es fish hush ion ksh ksh93 lksh mksh msh nu nushell oil osh pdksh powershell
  posh pwsh rbash rc rksh rzsh sash scsh tcsh xonsh yash ysh zsh git-shell`;

const LANGUAGES = `python pythonw pypy ipython bpython jython micropython graalpy pdb pydoc perl raku rakudo ruby irb jruby
  mruby truffleruby node nodejs deno bun qjs quickjs d8 js gjs cjs tsx ts-node osascript php php-cgi phpdbg hhvm lua luajit luau
  lua_jit texlua tcl tclsh wish expect guile racket mzscheme gsi csi chibi-scheme scheme chez sbcl clisp ecl ccl emacs
  emacsclient java jshell jrunscript jjs groovy kotlin kotlinc scala clojure clj bb R Rscript julia octave octave-cli gnuplot
  maxima ghci runghc runhaskell stack ocaml utop erl escript elixir iex mix swift swift-frontend dart dotnet csi fsi mono
  crystal nim nimble zig v go gorun rust-script cargo-script tcc cling root lli wasmtime wasmer wasmedge awk gawk mawk nawk
  bwk busybox-awk sed gsed ed red ex vi view vim nvim gvim vimdiff rvim rview evim nano pico emacs-nox m4 dc
  sqlite sqlite3 duckdb psql mysql mariadb mongo mongosh redis-cli gdb lldb pry ghostscript gs ps2pdf tex latex pdflatex
  xelatex lualatex luatex pdftex groff troff pic soffice soffice.bin libreoffice gimp gimp-console blender ansible ansible-playbook puppet chef-client salt-call nix nix-shell guix`;

const LAUNCHERS = `env xargs parallel nice ionice nohup setsid timeout gtimeout time chrt taskset numactl stdbuf unbuffer script
  scriptreplay screen tmux dtach abduco watch entr flock runcon setarch linux32 linux64 i386 x86_64 uclampset choom prlimit
  softlimit setpriv capsh unshare nsenter chroot fakeroot fakechroot proot bwrap bubblewrap firejail nsjail minijail
  systemd-run systemd-nspawn systemd-inhibit start-stop-daemon daemonize run-parts runuser su sudo sudoedit doas pkexec gosu
  su-exec sg newgrp login ssh sshpass autossh mosh rsh dbclient slogin at batch crontab anacron busybox toybox coreutils strace
  ltrace uftrace perf valgrind heaptrack rr catchsegv memusage sotruss dbus-run-session dbus-launch xvfb-run
  ssh-agent gpg-agent faketime ccache sccache distcc icecc make gmake bmake ninja samu cmake ctest meson scons waf bazel bazelisk
  buck buck2 pants just task rake gradle gradlew mvn mvnw ant sbt lein npm npx pnpm pnpx yarn yarnpkg corepack bunx pip pipx uv
  uvx poetry pdm hatch tox nox pytest conda mamba gem bundle bundler cargo rustup cpan cpanm composer opam cabal gulp grunt
  docker podman nerdctl buildah kubectl oc helm vagrant terraform tofu man less more most pager lesspipe sensible-editor
  sensible-pager sensible-browser xdg-open open xterm tclkit socat ncat nc netcat dpkg apt apt-get rpm
  git-remote-ext git-remote-fd git-daemon collect2 gpg-connect-agent systemd-socket-activate
  watchexec nodemon forever pm2 foreman supervisord s6-supervise runsv tini dumb-init catatonit
  systemctl systemd-cat logsave busctl dbus-send gdbus qdbus machinectl portablectl bugpoint msgexec msgfilter gio gtk-launch
  gapplication conmon rustc rustdoc sftp`;

function rows(names: string, kind: ExecutableKind): readonly (readonly [string, ExecutableKind])[] {
  return words(names).map((name) => [name.toLowerCase(), kind]);
}

export const PROGRAM_KINDS: ReadonlyMap<string, ExecutableKind> = new Map([
  ...rows(LAUNCHERS, 'launcher'),
  ...rows(LANGUAGES, 'interpreter'),
  ...rows(SHELLS, 'shell'),
]);

/** The dynamic linker, which runs any program that is its argument, executable or not. */
export const LINKER_NAME =
  /^(?:ld-linux.*|ld-musl.*|ld-uclibc.*|ld64|ld|ld-\d[\d.]*|dyld)(?:\.so)(?:\.\d+)*$|^dyld$/i;

/** Where the dynamic linker lives, beside the search path. */
export const LINKER_DIRECTORIES = ['/lib64', '/lib', '/lib32', '/libx32', '/usr/lib'] as const;

/** Files that are many programs in one: the name they are called by says which. */
export const MULTI_CALL: ReadonlySet<string> = new Set(['busybox', 'toybox', 'coreutils']);

function words(text: string): readonly string[] {
  return text.split(/\s+/);
}

const COMPILER = [
  // What stands in a file of arguments is not read.
  /^@/,
  ...words('-wrapper -fplugin -fpass-plugin -specs --specs -fuse-ld --ld-path'),
  /^-B/,
  /^-Wl,[^\0]*plugin/,
];

const CLANG = [
  ...COMPILER,
  ...words('-Xclang -load --config --gcc-toolchain --gcc-install-dir -gcc-toolchain -ccc-install-dir'),
];

const LINKER = ['-plugin', '--plugin', /^@/];
const LLVM = [...words('-load --load -load-pass-plugin --load-pass-plugin -pass-plugin --pass-plugin'), /^@/];

/**
 * Options with which an otherwise plain program starts another one or loads code. A long option counts from its third
 * character on, since most programs take any beginning; a letter counts anywhere in a bundle of letters; a pattern is
 * matched against the argument and all that follow, with a NUL after each.
 */
export const LAUNCHING_OPTIONS: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  find: ['-exec', '-execdir', '-ok', '-okdir'],
  fd: ['--exec', '--exec-batch', '-x', '-X'],
  fdfind: ['--exec', '--exec-batch', '-x', '-X'],
  rg: ['--pre', '--hostname-bin', '--search-zip', '-z'],
  git: [
    // `git -c core.pager=…`, and not `git switch -c name`.
    /^-c\0?[a-z][a-z0-9-]*\./i,
    // `git clone -u PROGRAM`, and not `git push -u origin`.
    /^clone\0(?:.*\0)?-[a-z46]*u/s,
    /^-x\0[^-]/,
    ...words('--config-env --exec-path --exec --extcmd --ext-diff --upload-pack --receive-pack'),
    '--open-files-in-pager',
    // `git grep -O`, and subcommands that start what they are given.
    /^-O/,
    /^bisect\0run\0/,
    /^submodule\0foreach\0/,
    /^(?:filter-branch|difftool|mergetool|remote-ext|instaweb|daemon|send-email)\0/,
    '--config',
  ],
  tar: words(`--checkpoint-action --to-command --use-compress-program --rsh-command --rmt-command --info-script
    --new-volume-script -I -F`),
  bsdtar: ['--use-compress-program'],
  cpio: ['--rsh-command'],
  zip: ['-TT', '--unzip-command'],
  rsync: ['--rsh', '--rsync-path', '--daemon', '-e'],
  scp: ['-S', '-o', '-F', '-D'],
  sort: ['--compress-program'],
  split: ['--filter'],
  diff3: ['--diff-program'],
  sdiff: ['--diff-program'],
  'ssh-keygen': ['-D'],
  'ssh-add': ['-s', '-S'],
  gpg: words(
    '--agent-program --dirmngr-program --keyboxd-program --exec-path --photo-viewer --options --homedir',
  ),
  cc1: COMPILER,
  cc1plus: COMPILER,
  gcc: COMPILER,
  'g++': COMPILER,
  cpp: COMPILER,
  cc: COMPILER,
  'c++': COMPILER,
  clang: CLANG,
  'clang++': CLANG,
  ld: LINKER,
  'ld.bfd': LINKER,
  'ld.gold': LINKER,
  opt: LLVM,
  llc: LLVM,
  nm: ['--plugin', /^@/],
  ar: ['--plugin', /^@/],
  ranlib: ['--plugin', /^@/],
  strip: ['--plugin', /^@/],
  objcopy: ['--plugin', /^@/],
  objdump: ['--plugin', /^@/],
  curl: ['--config', '--engine', '-K'],
  wget: ['--use-askpass', '--execute', '--config', '-e'],
  openssl: ['-engine', '-provider', '-provider-path', '-config', /^engine\0/],
  patch: ['-e', '--ed'],
  tcpdump: ['-z'],
  ip: [/^netn?s?\0/, /^vrf?\0/, /^-b(?:a\w*)?\0/],
  install: ['--strip-program'],
  // They start the program that a description of a terminal names.
  tput: [/^init\0/, /^reset\0/],
  'xtables-nft-multi': ['--modprobe', '-M'],
  'xtables-legacy-multi': ['--modprobe', '-M'],
  hg: ['--config'],
  svn: ['--editor-cmd', '--diff-cmd', '--diff3-cmd', '--config-option'],
  ctags: ['--options'],
};

/**
 * What a program imports that can start another one, or load code. One that does so and is in none of these tables is
 * unknown: the lists above know names, and there are always more programs.
 */
export const STARTING_IMPORTS =
  /^(?:exec(?:l|le|lp|v|ve|vp|vpe|veat)|fexecve|posix_spawnp?|system|popen|wordexp|dlm?open|g_spawn_.*|g_subprocess_.*|g_app_info_launch.*|Py_(?:Bytes)?Main|PyRun_.*|perl_run|luaL_loadfilex?|Tcl_Main(?:Ex)?|ruby_run_node|JNI_CreateJavaVM|JLI_Launch)$/;

/** Programs that import such a function and start nothing that their arguments, or a file of the caller's, name. */
export const STARTS_NOTHING: ReadonlySet<string> = new Set(
  words('diff dpkg-query iconv locale pgrep ps pstree'),
);
