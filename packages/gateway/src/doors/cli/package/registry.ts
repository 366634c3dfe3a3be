/*
 * The registry that packages come from, as the operator's own npm or pip would use it: --registry, else the environment,
 * else the configuration files in the home directory, else the public one. Credentials are never handed on: neither those
 * of a file nor those in an address.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../../core/result.ts';
import type { RegistryKind } from '../../../packages/runners.table.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

export type Registry = {
  readonly url: string;
  /** Registries of single scopes, of npm. */
  readonly scopes: readonly (readonly [scope: string, url: string])[];
  /** Entries of an allow-list: all that an installer may reach. */
  readonly hosts: readonly string[];
  /** Certificates to trust, of the file that the operator's installer is configured with. */
  readonly authorities: string | null;
};

type Defaults = {
  readonly url: string;
  /** Where the files of the public registry are, besides its own host. */
  readonly files: readonly string[];
  readonly variables: readonly string[];
  readonly keys: readonly string[];
  readonly authorities: { readonly variables: readonly string[]; readonly key: string };
  readonly settings: readonly string[];
};

const DEFAULTS: Readonly<Record<RegistryKind, Defaults>> = {
  npm: {
    url: 'https://registry.npmjs.org/',
    files: [],
    variables: ['npm_config_registry', 'NPM_CONFIG_REGISTRY'],
    keys: ['registry'],
    authorities: {
      variables: ['npm_config_cafile', 'NPM_CONFIG_CAFILE', 'NODE_EXTRA_CA_CERTS'],
      key: 'cafile',
    },
    settings: ['.npmrc'],
  },
  pypi: {
    url: 'https://pypi.org/simple/',
    files: ['files.pythonhosted.org:443'],
    variables: ['UV_DEFAULT_INDEX', 'UV_INDEX_URL', 'PIP_INDEX_URL'],
    keys: ['index-url'],
    authorities: { variables: ['PIP_CERT', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE'], key: 'cert' },
    settings: ['.config/pip/pip.conf', '.pip/pip.conf'],
  },
};

/** The registry of a kind, for this invocation; `more` are hosts that the operator allows besides. */
export function registryOf(invocation: Invocation, kind: RegistryKind, more: readonly string[]): Registry {
  const { env } = invocation.edge;
  const { files, ...defaults } = DEFAULTS[kind];
  const settings = defaults.settings.flatMap((name) =>
    settingsIn(env.home === null ? null : join(env.home, name)),
  );
  const variables = new Map(env.entries());
  const ofVariable = (names: readonly string[]) => names.map((name) => variables.get(name)).find(Boolean);
  const ofKey = (names: readonly string[]) => settings.findLast(([key]) => names.includes(key))?.[1];
  const named = textOf(invocation, 'registry') ?? ofVariable(defaults.variables) ?? ofKey(defaults.keys);
  const { url, host } = parseAddress(named ?? defaults.url);
  const scopes = settings.flatMap(([key, value]) => {
    const [, scope] = /^(@[^:]+):registry$/.exec(key) ?? [];
    return scope === undefined ? [] : [{ scope, ...parseAddress(value) }];
  });
  const { authorities } = defaults;
  const file = ofVariable(authorities.variables) ?? ofKey([authorities.key]);
  return {
    url,
    scopes: scopes.map((each) => [each.scope, each.url]),
    hosts: [host, ...scopes.map((each) => each.host), ...(url === defaults.url ? files : []), ...more],
    authorities: file === undefined ? null : orElse(() => readFileSync(file, 'utf8'), null),
  };
}

/** The keys and values of an INI file, without its sections. */
function settingsIn(path: string | null): readonly (readonly [key: string, value: string])[] {
  const text = path === null ? '' : orElse(() => readFileSync(path, 'utf8'), '');
  return text.split(/\r?\n/).flatMap((line) => {
    const [, key, value] = /^\s*([^#;[=\s][^=\s]*)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    return key === undefined || value === undefined
      ? []
      : [[key, value.replace(/^(["'])(.*)\1$/, '$2')] as const];
  });
}

const PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/** Boundary: an address without its credentials, and what an allow-list calls its host. */
function parseAddress(raw: string): { readonly url: string; readonly host: string } {
  const url = URL.canParse(raw) ? new URL(raw) : null;
  const port = url === null ? undefined : PORTS[url.protocol];
  if (url === null || port === undefined)
    throw wrongUsage(
      `Cannot use the registry "${raw.replace(/\/\/[^/@]*@/, '//')}": expected an address with http or https`,
      'Name another one with --registry URL.',
    );
  url.username = '';
  url.password = '';
  url.hash = '';
  return { url: url.href, host: `${url.hostname}:${url.port || port}` };
}
