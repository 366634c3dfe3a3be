/**
 * Variables that no caller sets, whatever the operator allows: each makes some program load code, run another program,
 * read another configuration, or talk to another place. Compared in upper case; `*` matches any characters.
 */
const FOR_NO_ONE: Readonly<Record<string, string>> = {
  'They are the base of the run and ours to set.': 'PATH HOME TMPDIR TMP TEMP PWD OLDPWD',
  'They say who and where the run is.': 'USER LOGNAME USERNAME UID EUID SHELL MAIL HOSTNAME',
  'The loader takes libraries and code from them.':
    'LD_* DYLD_* _RLD* RLD_* LIBPATH SHLIB_PATH LDR_* __XPG_*',
  'The C library loads modules and files that they name.': `
    GCONV_PATH GETCONF_DIR LOCPATH NLSPATH MALLOC_* GLIBC_* TZDIR HOSTALIASES LOCALDOMAIN RES_OPTIONS RESOLV_*
    NIS_PATH LOCALE_ARCHIVE* DATEMSK ARGP_* _PYTHON*`,
  'They turn connections elsewhere, write their keys out, or change whom they trust.': `
    *_PROXY PROXY_* CURL_* WGETRC SYSTEM_WGETRC NETRC SSL_* SSLKEYLOGFILE OPENSSL_* REQUESTS_* HTTPLIB*
    *_CA_BUNDLE *_CA_FILE *_CA_PATH GNUTLS_* NSS_*`,
  'They are accounts and secrets, which do not come in by this door.': `
    AWS_* AZURE_* GOOGLE_* GCLOUD_* CLOUDSDK_* VAULT_* TOKEN *_TOKEN SECRET *_SECRET PASSWORD *_PASSWORD
    PASSWD *_PASSWD *_PASSPHRASE API_KEY *_API_KEY APIKEY *_APIKEY *_ACCESS_KEY *_PRIVATE_KEY CREDENTIALS
    *_CREDENTIALS`,
  'Services of the host.':
    'SYSTEMD_* LISTEN_* NOTIFY_SOCKET INVOCATION_ID JOURNAL_STREAM KRB5* SASL_* LDAP* PAM_*',
  'They configure this gateway.': 'PALISADE_*',
};

/** The same for callers. An operator may set them for an MCP server: its README names some, and it is its own process. */
const FOR_NO_CALLER: Readonly<Record<string, string>> = {
  'A terminal description is a file that is parsed.': 'TERMINFO* TERMCAP* TERMPATH NCURSES_*',
  'A shell runs or obeys them when it starts.': `
    BASH BASH_* BASHOPTS SHELLOPTS ENV IFS PS0 PS1 PS2 PS3 PS4 PROMPT* CDPATH GLOBIGNORE EXECIGNORE FCEDIT
    HIST* INPUTRC ZDOTDIR FPATH KSH_* MKSH FISH_* POSIXLY_CORRECT POSIX_ME_HARDER COMSPEC PSMODULEPATH`,
  'Node and its relatives load code.':
    'NODE_* NPM_* YARN_* PNPM_* COREPACK_* DENO_* BUN_* TS_NODE_* ELECTRON_*',
  'Python starts with the modules and options in them.':
    'PYTHON* PYPY* PIP_* PIPENV_* POETRY_* UV_* VIRTUAL_ENV* CONDA* PYENV_* PYTEST_* TOX_* JUPYTER_* IPYTHON*',
  'Perl and Ruby load code with their first breath.': 'PERL* RUBY* GEM_* BUNDLE* RBENV_* RAKE* JRUBY_*',
  'The other interpreters have such variables too.': `
    LUA_* PHP* PHPRC R_* RPROFILE JULIA_* ERL_* ELIXIR_* MIX_* TCL* TK_* GUILE_* OCAML* CAML* GHC* HASKELL_*
    STACK_* SBCL_* EMACS*`,
  'A Java machine takes agents and classes from them.':
    'JAVA* _JAVA_* JDK_* JRE_* CLASSPATH MAVEN_* MVN_* GRADLE_* ANT_* SBT_* KOTLIN_* SCALA_* GROOVY_*',
  'A .NET machine loads profilers and hooks.': 'DOTNET_* CORECLR_* COR_* COMPLUS_* MONO_* NUGET_* MSBUILD*',
  'They name commands, keys and agents of version control and remote shells.':
    'GIT_* SSH_* GPG_* GNUPG* SVN_* HG* CVS* RSYNC_* SUDO_*',
  'Programs start what they name.': `
    *EDITOR *PAGER VISUAL BROWSER LESS* MORE MOST_* MAN* GROFF_* TROFF* VIM* VIMINIT EXINIT NVIM_* DIFF_*
    DIFFTOOL MERGETOOL *_ASKPASS ASKPASS`,
  'A build reads its tools and rules from them.': `
    MAKE* MFLAGS GNUMAKEFLAGS GNUMAKE* NINJA_* CMAKE* CTEST_* MESON_* BAZEL_* CCACHE_* SCCACHE_* DISTCC_*
    AUTOM4TE* AUTOCONF* ACLOCAL* AUTOMAKE* M4* PKG_CONFIG* LIBTOOL*`,
  'A compiler starts the programs and loads the plugins that they name.': `
    CC CC_* CXX CXX_* CPP CPP_* LD AR AS NM RANLIB STRIP OBJCOPY FC F77 FORTRAN LEX YACC CFLAGS CXXFLAGS
    CPPFLAGS LDFLAGS LDLIBS ASFLAGS ARFLAGS *_CFLAGS *_LDFLAGS HOSTCC HOSTCXX CROSS_COMPILE COMPILER_PATH
    LIBRARY_PATH GCC_* COLLECT_* CPATH *_INCLUDE_PATH DEPENDENCIES_OUTPUT SUNPRO_DEPENDENCIES CLANG_* LLVM_*
    ICECC*`,
  'Rust, Go and Zig name wrappers and tool chains in them.': `
    CARGO* RUSTC* RUSTFLAGS RUSTUP_* RUSTDOC* GO GO111MODULE GOARCH GOBIN GOCACHE* GODEBUG GOENV GOEXPERIMENT
    GOFLAGS GOINSECURE GOMOD* GONO* GOOS GOPATH GOPRIVATE GOPROXY GOROOT GOSUMDB GOTMPDIR GOTOOL* GOVCS GOWORK
    CGO_* ZIG_*`,
  'Options of archivers name programs.': 'TAR_* TAPE GZIP BZIP* XZ_* ZSTD_* ZIP* UNZIP* CPIO_* RSH',
  'Hidden options of text tools.': 'AWK* GREP_* SED_* ED_* FIND_* JQ_* RIPGREP_* FZF_* BAT_* LS_* TIME_STYLE',
  'Debuggers and sanitizers load, write and start what they name.': `
    GDB* LLDB_* STRACE* LTRACE* VALGRIND* *SAN_OPTIONS *SAN_SYMBOLIZER_PATH GCOV_* LLVM_PROFILE_* HEAPPROFILE
    CPUPROFILE PERF_* SCRIPT_*`,
  'Desktops: sockets of the host, and plugins by path.': `
    XDG_* DBUS_* DISPLAY WAYLAND_* XAUTHORITY XENVIRONMENT XAPPLRESDIR ICEAUTHORITY SESSION_MANAGER QT_* GTK_*
    GDK_* GIO_* GST_* GSETTINGS_* PULSE_* PIPEWIRE_* SDL_* MESA_* LIBGL_* VK_* EGL_* OCL_* CUDA_*`,
  'They lead to accounts of the host.':
    'KUBE* HELM_* DOCKER_* CONTAINER* PODMAN_* BUILDKIT_* TF_* ANSIBLE_* VAGRANT_*',
  'Start files and servers of databases.':
    'PG* PSQL* MYSQL* MARIADB_* SQLITE_* REDIS* MONGO* ORACLE_* TNS_ADMIN ODBC*',
};

export type NeverVariable = { readonly pattern: string; readonly why: string };

/** Whatever the operator configures. */
export const NEVER_FOR_SERVERS: readonly NeverVariable[] = patternsOf(FOR_NO_ONE);
export const NEVER_VARIABLES: readonly NeverVariable[] = [...NEVER_FOR_SERVERS, ...patternsOf(FOR_NO_CALLER)];

function patternsOf(byReason: Readonly<Record<string, string>>): readonly NeverVariable[] {
  return Object.entries(byReason).flatMap(([why, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((pattern) => ({ pattern, why })),
  );
}

/** What the values of known variables look like: never a path, which some programs would open. */
export const VALUE_SHAPES: readonly {
  readonly name: string;
  readonly accepts: RegExp;
  readonly expected: string;
}[] = [
  { name: 'LANG', accepts: /^[A-Za-z0-9_.@-]{0,64}$/, expected: 'a locale such as "C.UTF-8"' },
  { name: 'LC_*', accepts: /^[A-Za-z0-9_.@-]{0,64}$/, expected: 'a locale such as "C.UTF-8"' },
  { name: 'LANGUAGE', accepts: /^[A-Za-z0-9_.@:-]{0,128}$/, expected: 'locales with ":" between them' },
  {
    name: 'TZ',
    accepts: /^(?![/:])(?!.*\.\.)[A-Za-z0-9_+<>,./:-]{0,64}$/,
    expected: 'a time zone such as "Europe/Prague"',
  },
  { name: 'TERM', accepts: /^[A-Za-z0-9+._-]{0,64}$/, expected: 'a terminal such as "xterm-256color"' },
  { name: 'COLORTERM', accepts: /^[A-Za-z0-9+._-]{0,64}$/, expected: 'a word such as "truecolor"' },
];
