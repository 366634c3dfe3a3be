import { basename } from 'node:path';
import type { ConfigFile } from '../config/config.ts';
import { configOf, readConfigFile } from '../config/load.ts';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { accept, type Result, reject, sentenceOf } from '../core/result.ts';
import { type AllowList, NOWHERE, parseAllowList, rulesFor } from '../egress/allowlist.ts';
import { DEFAULT_PORTS, type Host } from '../egress/authority.ts';
import { parseHostPattern, parseRule, type Rule } from '../egress/rule.ts';

/** Boundary: one entry that cannot be read invalidates the whole list, because its intent is unknown. */
export function allowListOf(entries: readonly string[], key = 'process.egress_hosts'): AllowList {
  return demand(key, readList(entries, { source: `${key} in palisade.toml` }));
}

/** The hosts whose TLS is opened, on every port. They have names; an address is never opened. */
export function interceptedBy(entries: readonly string[]): HostSet {
  const isName = (rule: Rule) => isHostAlone(rule) && !namesPort(rule) && rule.place.kind !== 'range';
  demand(
    'process.egress_intercept',
    readList(entries, { isFit: isName, expected: 'the name of a host alone' }),
  );
  return newHostSet(entries);
}

/** Whether a secret may go to a port of a host. */
type SecretHosts = (host: Host, port: number) => boolean;

/** The hosts and ports that a secret is for; throws a CodedError that names the key for entries that cannot be read. */
export function boundTo(entries: readonly string[], key: string): SecretHosts {
  return demand(key, parseSecretHosts(entries));
}

export function parseSecretHosts(entries: readonly string[]): Result<SecretHosts> {
  const list = readList(entries, { isFit: isHostAlone, expected: 'a host, with or without a port' });
  if (!list.ok) return list;
  return accept((host, port) => rulesFor(list.value, host).some((rule) => isOn(rule, port)));
}

/** Boundary: an entry without a port is that of TLS alone: on its way to port 80 everyone could read the value. */
function isOn(rule: Rule, port: number): boolean {
  return namesPort(rule) ? rule.ports?.includes(port) === true : port === DEFAULT_PORTS.https;
}

type ListTerms = {
  readonly source?: string;
  readonly isFit?: (rule: Rule) => boolean;
  readonly expected?: string;
};

/** Reads a list whose every entry has to be of one kind. */
function readList(
  entries: readonly string[],
  { source, isFit, expected = '' }: ListTerms,
): Result<AllowList> {
  const list = parseAllowList(entries, source);
  if (!list.ok) return reject(list.problem[0]);
  const unfit = entries.find((entry) => {
    const rule = parseRule(entry);
    return !rule.ok || isFit?.(rule.value) === false;
  });
  if (unfit === undefined) return list;
  return reject({ subject: `entry ${quote(unfit)}`, is: 'it says more than a host', expected });
}

function isHostAlone({ denies, scheme, methods, path }: Rule): boolean {
  return !denies && scheme === null && methods === null && path === null;
}

/** Those of an entry without a port are several. */
function namesPort({ ports }: Rule): boolean {
  return ports?.length === 1;
}

function demand<T>(key: string, result: Result<T>): T {
  if (result.ok) return result.value;
  throw new CodedError('config/invalid', `${key}: ${sentenceOf(result.problem)}`);
}

/** Whether a host is in a set, or, on request, whether any host below its name is. */
export type HostSet = (host: Host, orAnyBelow?: boolean) => boolean;

/** The set of names and wildcards such as "example.com" and "*.example.com"; other entries mean no host. */
function newHostSet(entries: readonly string[]): HostSet {
  const places = entries.flatMap((entry) => {
    const place = parseHostPattern(entry, null);
    return place.ok && place.value.kind !== 'range' ? [place.value] : [];
  });
  return (host, orAnyBelow = false) =>
    host.kind === 'name' &&
    places.some(({ kind, name }) =>
      kind === 'name'
        ? host.name === name || (orAnyBelow && isBelow(name, host.name))
        : isBelow(host.name, name) || (orAnyBelow && (name === host.name || isBelow(name, host.name))),
    );
}

function isBelow(name: string, above: string): boolean {
  return name.endsWith(`.${above}`);
}

type LiveHostsOptions = {
  /** Where the configuration is, or would be. */
  readonly path: string;
  /** The text that the list was read from; null if there was no file. */
  readonly text: string | null;
  readonly list: AllowList;
};

/** Represents an unreadable file; no file has this text, since none contains a NUL. */
const UNREADABLE = '\0';

/**
 * The operator's allow-list as currently configured. A changed file is read by the next look; one that cannot be read,
 * or is invalid, allows nothing until it is fixed.
 */
export class LiveHosts {
  readonly #path: string;
  #text: string | null;
  #list: AllowList;
  #loading: Promise<void> = Promise.resolve();

  constructor({ path, text, list }: LiveHostsOptions) {
    this.#path = path;
    this.#text = text;
    this.#list = list;
  }

  /** The list as it was read last; if the file has changed since, the next look returns the new one. */
  get list(): AllowList {
    void this.refresh();
    return this.#list;
  }

  /** Reads the file again where it has changed, and is done when the list is that of the file. */
  async refresh(): Promise<void> {
    const file = this.#read();
    const text = file === UNREADABLE ? file : (file?.text ?? null);
    if (text !== this.#text) {
      this.#text = text;
      this.#loading = this.#load(file);
    }
    await this.#loading;
  }

  #read(): ConfigFile | typeof UNREADABLE | null {
    try {
      return readConfigFile(this.#path);
    } catch {
      return UNREADABLE;
    }
  }

  /** What was compared is what is read: the file may be another one by now. */
  async #load(file: ConfigFile | typeof UNREADABLE | null): Promise<void> {
    const wanted = this.#text;
    const list = await listOf(file);
    if (wanted === this.#text) this.#list = list;
  }
}

/** Boundary: with an unreadable or invalid file the operator's intent is unknown, so nothing is allowed. */
async function listOf(file: ConfigFile | typeof UNREADABLE | null): Promise<AllowList> {
  if (file === UNREADABLE) return NOWHERE;
  return configOf(file)
    .then(({ process }) => allowListOf(process.egressHosts))
    .catch(() => NOWHERE);
}

/*
 * The hosts that a command line names, for the check before the start in "preflight" mode. It is advice: a program can
 * connect to any host its code chooses. Addresses are given as they are written; what a spelling such as 0x7f.1 means
 * is decided by egress, which connects.
 */

const URL_AUTHORITY = /([A-Za-z][A-Za-z0-9+.-]{0,31}):[/\\]{2}([^/?#\s"'<>]*)/g;
const HOST_AND_PORT = /^(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_][A-Za-z0-9_.-]*):\d{1,5}(?:$|[/?#])/;
const USER_AT_HOST = /^[^\s/@:]+@(\[[0-9A-Fa-f:.%]+\]|[^\s/@:]+)/;
const HOST_AND_PATH = /^(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_][A-Za-z0-9_.-]*):/;
const IP_ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[?[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%]*\]?)$/;
const BARE_HOST = /^([A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.%]+\])(?:$|[:/?#,])/;

/** Every host that an argument names, in lower case and each once; an ambiguous one gives every host it can mean. */
export function hostsIn(args: readonly string[], program: string): readonly string[] {
  const hosts = new Set<string>();
  const add = (raw: string | undefined): void => {
    const host = (raw ?? '')
      .toLowerCase()
      .replace(/^\[|\]$/g, '')
      .replace(/\.$/, '');
    if (host !== '') hosts.add(host);
  };
  const network = NETWORK_PROGRAMS.get(basename(program));
  for (const [i, argument] of args.entries()) {
    for (const host of hostsOfUrls(argument)) add(host);
    for (const word of wordsOf(argument)) {
      add(HOST_AND_PORT.exec(word)?.[1]);
      add(USER_AT_HOST.exec(word)?.[1]);
      add(IP_ADDRESS.exec(word)?.[0]);
      if (network !== undefined) add(HOST_AND_PATH.exec(word)?.[1]);
    }
    const isValue = network?.has(args[i - 1] ?? '') ?? false;
    if (network !== undefined && !isValue && !/^[-+@]/.test(argument)) {
      add(BARE_HOST.exec(argument.slice(argument.lastIndexOf('@') + 1))?.[1]);
    }
  }
  return [...hosts];
}

/** The argument, the part after its `=`, and the elements of a list. */
function wordsOf(argument: string): readonly string[] {
  const words = [argument, ...argument.split(/[=,\s]/), argument.slice(argument.indexOf('=') + 1)];
  return [...new Set(words)].filter((word) => !word.includes('://'));
}

function* hostsOfUrls(argument: string): Generator<string> {
  for (const [, scheme = '', authority = ''] of argument.matchAll(URL_AUTHORITY)) {
    if (scheme.toLowerCase() === 'file' && authority === '') continue;
    // Boundary: programs differ on which `@` ends the user and on whether a backslash ends the host; all readings count.
    for (const reading of authority.split(/[@\\]/).slice(authority.includes('@') ? 1 : 0)) {
      yield /^(\[[^\]]*\]|[^:,]*)/.exec(reading)?.[1] ?? '';
    }
    if (authority.includes('\\')) yield /^[^:\\@]*/.exec(authority)?.[0] ?? '';
  }
}

/**
 * Programs that take the name of a host as a bare argument, and those of their options whose value is not a host. An
 * option that is missing here makes a value look like a host, which at worst refuses a call in preflight.
 */
const OPTIONS_WITH_VALUES = {
  curl: `-o --output -d --data --data-raw --data-binary --data-urlencode --json -H --header -X --request -F --form -A
    --user-agent -e --referer -u --user -b --cookie -c --cookie-jar -T --upload-file -w --write-out -m --max-time
    --connect-timeout --cacert --cert --key -r --range -D --dump-header --retry -K --config --output-dir`,
  wget: `-O --output-document -o --output-file -a --append-output --header -U --user-agent -P --directory-prefix -t
    --tries -T --timeout --post-data --post-file --user --password -i --input-file`,
  ssh: '-i -l -p -o -F -L -R -D -b -c -e -m -S -W -E',
  scp: '-i -l -P -o -F -S -c',
  sftp: '-i -l -P -o -F -S -c -b',
  ping: '-c -i -I -s -t -W -w',
  nc: '-p -s -w -i -x -X -e',
  ncat: '-p -s -w -i -x -X -e',
  netcat: '-p -s -w -i -x -X -e',
  rsync: '-e --rsh --exclude --include',
  aria2c: '-o -d --out --dir',
};
const WITHOUT_OPTIONS = 'telnet ftp dig host nslookup whois traceroute mtr socat http https xh';

const NETWORK_PROGRAMS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ...Object.entries(OPTIONS_WITH_VALUES).map(([name, options]) => [name, wordSet(options)] as const),
  ...WITHOUT_OPTIONS.split(' ').map((name) => [name, wordSet('')] as const),
]);

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/).filter((word) => word !== ''));
}
