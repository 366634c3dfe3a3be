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
