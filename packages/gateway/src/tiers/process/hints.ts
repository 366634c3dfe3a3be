/*
 * What a command ran into at the walls of its sandbox, in sentences that name the exact switch. It is read from what the
 * proxy denied and from what the command printed. Boundary: nothing here looks at the machine, since a command can print
 * any path; a hint says what the sandbox leaves out, never whether it exists.
 */
import { inert } from '../../core/hostile-text.ts';
import type { ProcessTerms } from '../../core/process.ts';
import { SYSTEM_PATHS } from '../../runner/system.ts';
import type { LauncherStatus } from '../child/status.ts';

/** How the operator allows a host or a path, for this kind of run. */
export type Switches = {
  readonly host: (host: string) => string;
  readonly path: (path: string) => string;
  /** For a program that a shell did not find. */
  readonly program?: (name: string) => string;
  /** For an address at which nothing listened; commands test servers of their own, so they are told nothing. */
  readonly address?: (address: string) => string;
};

type Decided = {
  readonly verdict: string;
  /** The denying entry; null where no entry is about the host. */
  readonly rule: unknown;
  readonly host: string;
  readonly port: number;
};

const MOST_HINTS = 5;
/** An error message at the end of a longer text is the one that counts. */
const READ_CHARS = 16_384;

const UNRESOLVED = [
  /Could not resolve host: ([A-Za-z0-9.-]+)/g,
  /getaddrinfo [A-Z_]+ ([A-Za-z0-9.-]+)/g,
  /Failed to resolve '([A-Za-z0-9.-]+)'/g,
  /lookup ([A-Za-z0-9.-]+)(?: on [^:]+:\d+)?: /g,
];
/** What Node prints where nothing listens at an address; a jail has only the listeners of allowed hosts. */
const REFUSED = /connect E(?:CONNREFUSED|NETUNREACH) (\[?[0-9a-f:.]+\]?:\d{1,5})\b/g;
const MISSING =
  /ENOENT|EACCES|No such file or directory|Permission denied|Cannot find module|can't open file/i;
const PATH = /(?<![A-Za-z0-9_.~:/-])\/[A-Za-z0-9_.@+/-]{1,500}/g;
/** What a shell or `env` prints of a program that it does not find. */
const NOT_FOUND = /(?:^|: )['‘]?([A-Za-z0-9][A-Za-z0-9_.+-]{0,63})['’]?: (?:command not found|not found)$/gm;
/** Settings and credentials in a home: no hint proposes to open them. */
const PRIVATE = /^\/(?:root|home\/[^/]+|Users\/[^/]+)\/\./;
/** In every sandbox, whatever is granted. */
const PRESENT: readonly string[] = [...SYSTEM_PATHS, '/etc', '/tmp', '/dev', '/proc', '/run'];

type Seen = {
  readonly decisions: readonly Decided[];
  readonly stderr: string;
  /** A command that succeeded, `curl HOST | head` for example, may have missed a host; the rest it coped with. */
  readonly hasFailed: boolean;
};

type Jailed = {
  readonly terms: Pick<ProcessTerms, 'workspace' | 'readOnly'>;
  readonly network: { readonly facts: () => { readonly decisions: readonly Decided[] } } | null;
  readonly end: { readonly stderr: Uint8Array };
  readonly hasFailed: boolean;
};

/** The hints for a command that has ended in a jail. */
export function hintsOf(
  { terms, network, end: { stderr }, hasFailed }: Jailed,
  switches: Switches,
): readonly string[] {
  const decisions = network?.facts().decisions ?? [];
  // Most commands succeed and print no error; nothing of them is read.
  if (!hasFailed && decisions.length === 0 && stderr.length === 0) return [];
  return hintsFor(terms, { decisions, stderr: Buffer.from(stderr).toString(), hasFailed }, switches);
}

/** What the sandbox kept from a command, each with the switch that would allow it. */
export function hintsFor(
  terms: Pick<ProcessTerms, 'workspace' | 'readOnly'>,
  { decisions, stderr, hasFailed }: Seen,
  switches: Switches,
): readonly string[] {
  const text = stderr.slice(-READ_CHARS);
  const { address = () => '', program = () => '' } = switches;
  const hosts = hostsIn(text, decisions).map(
    (host) => `${host} is not an allowed host. ${switches.host(host)}`,
  );
  if (!hasFailed) return hosts.slice(0, MOST_HINTS);
  const dialled = [...text.matchAll(REFUSED)].map(([, found = '']) => address(spelled(found)));
  const programs = [...text.matchAll(NOT_FOUND)].map(([, name = '']) => program(name));
  const paths = missingPaths(text, terms).map((path) =>
    PRIVATE.test(path)
      ? `${path} is outside the sandbox, like all settings and credentials of a home.`
      : `${path} is outside the sandbox. ${switches.path(path)}`,
  );
  const all = [...hosts, ...dialled, ...programs, ...paths].filter((sentence) => sentence !== '');
  return [...new Set(all)].slice(0, MOST_HINTS);
}

/** The hosts that the proxy denied because no entry allows them, and those that could not be resolved. */
function hostsIn(text: string, decisions: readonly Decided[]): readonly string[] {
  const unlisted = decisions.filter(({ verdict, rule }) => verdict === 'deny' && rule === null);
  const refused = unlisted.map(({ host, port }) => entryOf(host, port));
  const unresolved = UNRESOLVED.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, host = '']) => host),
  );
  return [...new Set([...refused, ...unresolved])].map(inert);
}

/** The absolute paths in lines that report something missing, but for those that every sandbox or this one has. */
function missingPaths(
  text: string,
  { workspace, readOnly }: Pick<ProcessTerms, 'workspace' | 'readOnly'>,
): readonly string[] {
  const lines = text.split('\n').filter((line) => MISSING.test(line));
  const present = [workspace, ...readOnly, ...PRESENT];
  return lines
    .flatMap((line) => line.match(PATH) ?? [])
    .filter((path) => !present.some((root) => path === root || path.startsWith(`${root}/`)));
}

/** Node writes an IPv6 address without brackets. */
function spelled(address: string): string {
  const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(address) ?? [];
  return host.includes(':') && !host.startsWith('[') ? `[${host}]:${port}` : address;
}

/** An entry of an allow-list stands for the ports of the web unless it names another. */
function entryOf(host: string, port: number): string {
  return port === 443 || port === 80 ? host : `${host}:${port}`;
}

/** What programs print that cannot reach a host: curl, git, Node, Python, Go, Java, wget. */
const NO_HOST =
  /ENOTFOUND|EAI_AGAIN|ENETUNREACH|resolve host|name resolution|Name or service not known|no such host|UnknownHostException|Network is unreachable/i;
const SEARCHED_BYTES = 64 * 1024;
const NETWORK_HINT =
  'This run had no network: allow a host with `palisade exec --allow-host HOST`, or with process.egress_hosts in palisade.toml';

type Unconnected = {
  readonly terms: Pick<ProcessTerms, 'egress'>;
  readonly network: unknown;
  readonly end: { readonly stdout: Uint8Array; readonly stderr: Uint8Array };
  readonly status: Pick<LauncherStatus, 'outward'> | null;
};

/** A command that has no network and looks for it fails with words of its own, or tries until its time is over. */
export function withNetworkHint<Ending extends { readonly code: string; readonly message: string }>(
  verdict: Ending | null,
  { terms, network, end, status }: Unconnected,
): Ending | null {
  if (verdict === null || network !== null || terms.egress !== 'strict') return verdict;
  const tail = [end.stderr, end.stdout].map((bytes) =>
    Buffer.from(bytes.slice(-SEARCHED_BYTES)).toString('latin1'),
  );
  const hasSaid = tail.some((text) => NO_HOST.test(text));
  const isMissed =
    verdict.code === 'tier/timed-out'
      ? hasSaid || hasTried(status)
      : verdict.code === 'tier/exited' && hasSaid;
  if (!isMissed) return verdict;
  return { ...verdict, message: `${verdict.message}. ${NETWORK_HINT}` };
}

function hasTried(status: Unconnected['status']): boolean {
  return (status?.outward ?? 0) > 0;
}

/** For commands. */
export const COMMAND_SWITCHES: Switches = {
  host: (host) =>
    `Allow it with --allow-host ${host} of palisade exec, or with process.egress_hosts in palisade.toml.`,
  path: (path) =>
    `Allow it with --read-only ${path} of palisade exec, or with process.read_only in palisade.toml.`,
  program: (name) =>
    `${name} is not in the sandbox. If it is installed in your home, show it with --tool-homes '*' of palisade exec, or with process.tool_homes in palisade.toml.`,
};

/** For MCP servers. */
export const SERVER_SWITCHES: Switches = {
  host: (host) => `Allow it with --allow-host ${host}, or with allow_hosts of the server in palisade.toml.`,
  path: (path) => `Allow it with --read-only ${path}, or with read_only of the server in palisade.toml.`,
  address: (address) =>
    `Nothing listens at ${address} in the sandbox. Allow a service of this machine with --allow-host ${address}, or with allow_hosts of the server in palisade.toml.`,
};
