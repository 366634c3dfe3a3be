import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../src/config/grammar.ts';
import { NEVER_VARIABLES } from '../../src/runner/environment.table.ts';
import { environmentOf, reasonNever } from '../../src/runner/environment.ts';
import { DEFAULT_SETTINGS } from '../../src/runner/settings.ts';
import { accept, ask, makeHost, verdict } from './sample.ts';

const NEVER =
  `LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS
  PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PERL5OPT PERL5LIB PERL5DB PERLLIB RUBYOPT RUBYLIB BASH_ENV ENV SHELLOPTS BASHOPTS IFS PS4
  PROMPT_COMMAND GIT_SSH_COMMAND GIT_DIR GIT_EXTERNAL_DIFF GIT_CONFIG_COUNT GIT_PAGER SSH_AUTH_SOCK SSH_ASKPASS JAVA_TOOL_OPTIONS _JAVA_OPTIONS
  JDK_JAVA_OPTIONS CLASSPATH MALLOC_PERTURB_ GLIBC_TUNABLES LOCPATH NLSPATH TERMINFO TERMINFO_DIRS TERMCAP EDITOR PAGER VISUAL BROWSER
  HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy npm_config_registry MAKEFLAGS MAKEFILES MFLAGS GNUMAKEFLAGS CC CXX CFLAGS LDFLAGS
  LIBRARY_PATH COMPILER_PATH GCC_EXEC_PREFIX TAR_OPTIONS RSYNC_RSH LESSOPEN LESSCLOSE MANPAGER AWKPATH OPENSSL_CONF SSL_CERT_FILE SSLKEYLOGFILE
  CURL_HOME XDG_CONFIG_HOME DBUS_SESSION_BUS_ADDRESS DISPLAY KUBECONFIG DOCKER_HOST AWS_SECRET_ACCESS_KEY GOFLAGS CARGO_HOME RUSTC_WRAPPER
  RUSTFLAGS LUA_INIT PHPRC R_PROFILE JULIA_LOAD_PATH ERL_AFLAGS DOTNET_STARTUP_HOOKS ASAN_OPTIONS HOSTALIASES RES_OPTIONS TZDIR ZDOTDIR
  PATH HOME TMPDIR SHELL USER PALISADE_STATE PGPASSFILE PSQLRC VIMINIT EXINIT PKG_CONFIG_PATH CMAKE_TOOLCHAIN_FILE`.split(
    /\s+/,
  );

describe('termsOf() and the environment (B14)', () => {
  it.each(NEVER)('%s cannot be set by a caller, even where the operator allows every name', (name) => {
    const host = makeHost({ envAllow: ['*', name] });
    expect(verdict(ask(host, { env: { [name]: 'x' } }))).toBe('runner/environment');
    expect(verdict(ask(host, { env: { MY_OWN: 'x' } }))).toBe('ok');
  });

  it('gives the run the base and what was allowed, and nothing of the gateway', () => {
    const host = makeHost();
    const { terms } = accept(host, { env: { LC_ALL: 'C', TZ: 'Europe/Prague', CI: '1' } });
    expect(terms.env).toEqual({
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: host.workspace,
      TMPDIR: '/tmp',
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      LC_ALL: 'C',
      TZ: 'Europe/Prague',
      CI: '1',
    });
  });

  it.each([
    ['not on the list', { MY_OWN: 'x' }],
    ['no name', { 'A-B': 'x' }],
    ['an exported function', { 'BASH_FUNC_ls%%': '() { id; }' }],
    ['an assignment in the name', { 'LANG=C': 'x' }],
    ['an empty name', { '': 'x' }],
    ['a line break in the name', { 'LANG\n': 'x' }],
    ['a locale that is a path', { LANG: '../../outside' }],
    ['a locale that is an absolute path', { LC_ALL: '/tmp/x' }],
    ['a time zone that is a file', { TZ: ':/etc/passwd' }],
    ['a time zone that leads up', { TZ: 'Europe/../../../outside' }],
    ['a terminal that is a path', { TERM: '../x' }],
  ])('refuses %s', (_, env) => {
    expect(verdict(ask(makeHost(), { env }))).toBe('runner/environment');
  });

  it('refuses a value that leads outside, in a variable that the operator allowed', () => {
    const host = makeHost({ envAllow: ['DATA_DIR'] });
    expect(verdict(ask(host, { tier: 'b', env: { DATA_DIR: host.outside } }))).toBe(
      'runner/outside-workspace',
    );
    expect(verdict(ask(host, { tier: 'b', env: { DATA_DIR: 'data' } }))).toBe('ok');
  });
});

describe('reasonNever()', () => {
  it('does not close what the default allow-list opens', () => {
    for (const name of DEFAULT_SETTINGS.envAllow)
      expect(reasonNever(name.replace('*', 'X')), name).toBeNull();
  });

  it('sees through the case of letters', () => {
    fc.assert(
      fc.property(fc.constantFrom(...NEVER), fc.infiniteStream(fc.boolean()), (name, flips) => {
        const spelt = [...name].map((char) => (flips.next().value ? char.toLowerCase() : char)).join('');
        expect(reasonNever(spelt)).not.toBeNull();
      }),
    );
  });

  it('has rows of well-formed patterns, each in upper case', () => {
    for (const { pattern, why } of NEVER_VARIABLES) {
      expect(why).toMatch(/^[A-Z].*\.$/);
      expect(pattern).toMatch(/^[A-Z0-9_*]+$/);
    }
  });
});

describe('environmentOf()', () => {
  const setFor = (name: string, by: { readonly envOfOperator?: true }) => () =>
    environmentOf({ [name]: 'x' }, '/home', { ...DEFAULT_SETTINGS, envAllow: [name], ...by });

  it.each(['GIT_BASE_DIR', 'NODE_ENV', 'REDIS_HOST', 'PGHOST', 'KUBECONFIG'])(
    'takes %s from an operator for a server, and from no caller',
    (name) => {
      expect(setFor(name, { envOfOperator: true })()).toMatchObject({ [name]: 'x' });
      expect(setFor(name, {})).toThrow('no caller may set it');
    },
  );

  it.each(['PATH', 'HOME', 'LD_PRELOAD', 'HTTPS_PROXY', 'SSL_CERT_FILE', 'GITHUB_TOKEN', 'PALISADE_STATE'])(
    'takes %s from no operator either',
    (name) => {
      expect(setFor(name, { envOfOperator: true })).toThrow('no one may set it');
    },
  );

  it('holds nothing but the base and names of the allow-list, whatever is asked', () => {
    const names = fc.oneof(fc.constantFrom(...NEVER, 'LANG', 'LC_X', 'CI', 'TZ'), fc.string());
    fc.assert(
      fc.property(fc.dictionary(names, fc.string()), (asked) => {
        let env: Readonly<Record<string, string>>;
        try {
          env = environmentOf(asked, '/home', DEFAULT_SETTINGS);
        } catch {
          return;
        }
        const allowed = ['PATH', 'HOME', 'TMPDIR', ...DEFAULT_SETTINGS.envAllow];
        for (const name of Object.keys(env))
          expect(allowed.some((each) => matchesPattern(each, name))).toBe(true);
        expect(env).toMatchObject({ PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/home', TMPDIR: '/tmp' });
      }),
    );
  });
});
