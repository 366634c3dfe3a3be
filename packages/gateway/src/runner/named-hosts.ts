import { basename } from 'node:path';
import { parseAddress } from '../egress/address.ts';
import type { NamedArgument, NamedCommand } from './named-commands.ts';
import { UNKNOWN } from './shell-line.ts';

/*
 * The hosts that a command line names, for the policies and for the check before the start in "preflight" mode. It is
 * advice: a program can connect to any host its code chooses. Addresses are given as they are written; what a spelling
 * such as 0x7f.1 means is decided by egress, which connects.
 */

const BRACKETED = String.raw`\[[0-9A-Fa-f:.%]+\]`;
const LABELS = '[A-Za-z0-9_][A-Za-z0-9_.-]*';
/** A name with a dot and a last label that is not a number: neither a version nor a time. */
const DOTTED = String.raw`[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\.[A-Za-z][A-Za-z0-9-]+\.?`;
const IPV4 = String.raw`\d{1,3}(?:\.\d{1,3}){3}`;

const URL_AUTHORITY = /([A-Za-z][A-Za-z0-9+.-]{0,31}):[/\\]{2}([^/?#\s"'`<>]*)/g;
/** A port of one or two digits behind a plain word is more often a tag, a line or a time. */
const HOST_AND_PORT = new RegExp(
  `^(?:(localhost|${DOTTED}|${IPV4}|${BRACKETED}):\\d{1,5}|([A-Za-z_][A-Za-z0-9_-]*):\\d{3,5})(?:$|[/?#])`,
);
const USER_AT_HOST = new RegExp(
  `^[^\\s/@:]+@(?:(${DOTTED}|${IPV4}|${BRACKETED})(?:$|:)|([^\\s/@:]+):(?!\\d))`,
);
const IP_ADDRESS = new RegExp(`^(?:${IPV4}|\\[?[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%\\w+)?\\]?)$`);
/** As `git` and `scp` name a path on a host. */
const HOST_AND_PATH = new RegExp(`^(?:[^\\s/@:]+@)?(${BRACKETED}|${LABELS}):(?!//)`);
const DOTTED_AND_PATH = new RegExp(`^(${DOTTED}):(?!//)`);
const SOCKET_ADDRESS = new RegExp(
  `^(?:tcp|udp|ssl|openssl)[46]?(?:-connect)?:(${BRACKETED}|${LABELS}):`,
  'i',
);
const BARE_HOST = new RegExp(`^(?:[^\\s/]*@)?(${BRACKETED}|${LABELS})(?:$|[:/?#,])`);
const SHELL_SOCKET = /^\/dev\/(?:tcp|udp)\/([^/]+)/;

/** Every host that the commands name, in lower case and each once; an ambiguous one gives every host it can mean. */
export function hostsIn(commands: readonly NamedCommand[]): readonly string[] {
  const hosts = new Set<string>();
  for (const command of commands) {
    for (const raw of hostsOf(command)) {
      const host = raw
        .toLowerCase()
        .replace(/^\[|\]$/g, '')
        .replace(/\.$/, '');
      if (host !== '' && !host.includes(UNKNOWN)) hosts.add(host);
    }
  }
  return [...hosts];
}

function* hostsOf({ program, args }: NamedCommand): Generator<string> {
  const row = NETWORK_PROGRAMS.get(basename(program));
  const isSaid = ({ role }: NamedArgument, at: number) =>
    row === undefined ? role === 'any' || role === 'code' : !isValueOf(row, args, at);
  const said = args.filter(isSaid);
  for (const { text, role, isColonRemote } of said) {
    yield* hostsOfUrls(text);
    if (role === 'code') continue;
    for (const word of wordsOf(text)) yield* hostsOfWord(word);
    if (isColonRemote) yield (row === undefined ? DOTTED_AND_PATH : HOST_AND_PATH).exec(text)?.[1] ?? '';
  }
  if (row !== undefined) yield* hostsOfOperands(row, said);
}

function* hostsOfOperands(
  { takes, hostOptions }: NetworkRow,
  said: readonly NamedArgument[],
): Generator<string> {
  const isOption = (at: number) => hostOptions.has(said[at]?.text ?? '');
  const operands = said
    .filter(({ text }, at) => !/^[-+]/.test(text) && !isOption(at - 1))
    .map(({ text }) => text);
  const given = said.filter((_, at) => isOption(at - 1)).map(({ text }) => text);
  const hosts = takes === 'first' ? operands.filter((text) => !/^[A-Z]+$/.test(text)).slice(0, 1) : operands;
  for (const text of [...given, ...(takes === 'paths' ? [] : hosts)])
    if (!text.includes('://')) yield BARE_HOST.exec(text)?.[1] ?? '';
}

function* hostsOfWord(word: string): Generator<string> {
  const [, port, wordPort] = HOST_AND_PORT.exec(word) ?? [];
  const [, user, userPath] = USER_AT_HOST.exec(word) ?? [];
  yield port ?? wordPort ?? '';
  yield user ?? userPath ?? '';
  if (IP_ADDRESS.test(word) && parseAddress(word.replace(/%\w+/, '')) !== null) yield word;
  yield SOCKET_ADDRESS.exec(word)?.[1] ?? '';
  yield SHELL_SOCKET.exec(word)?.[1] ?? '';
}

/** The argument, the part after its `=`, and the elements of a list. */
function wordsOf(argument: string): readonly string[] {
  const words = [argument, ...argument.split(/[=,\s]/), argument.slice(argument.indexOf('=') + 1)];
  return [...new Set(words)].filter((word) => !word.includes('://'));
}

function* hostsOfUrls(argument: string): Generator<string> {
  for (const [, scheme = '', authority = ''] of argument.matchAll(URL_AUTHORITY)) {
    if (scheme.toLowerCase() === 'file') continue;
    // Boundary: programs differ on which `@` ends the user and on whether a backslash ends the host; all readings count.
    for (const reading of authority.split(/[@\\]/).slice(authority.includes('@') ? 1 : 0)) {
      yield /^(\[[^\]]*\]|[^:,;)}\]|&]*)/.exec(reading)?.[1] ?? '';
    }
    if (authority.includes('\\')) yield /^[^:\\@]*/.exec(authority)?.[0] ?? '';
  }
}

/** Whether an argument is the value of an option that names no host, apart from it or attached to it. */
function isValueOf({ values }: NetworkRow, args: readonly NamedArgument[], at: number): boolean {
  const text = args[at]?.text ?? '';
  const before = args[at - 1]?.text ?? '';
  const last = /^-[A-Za-z0-9]*([A-Za-z])$/.exec(before)?.[1];
  if (values.has(before) || (last !== undefined && values.has(`-${last}`))) return true;
  return text.startsWith('--') ? values.has(text.split('=', 1)[0] ?? '') : values.has(text.slice(0, 2));
}

type NetworkRow = {
  /** Which operands are hosts: all of them, the first one, or none but those with a path, as `host:path`. */
  readonly takes: 'all' | 'first' | 'paths';
  readonly values: ReadonlySet<string>;
  readonly hostOptions: ReadonlySet<string>;
};

/**
 * Programs that take hosts as operands, and those of their options whose value is not a host. An option that is missing
 * here makes a value look like a host, which at worst refuses a call in preflight.
 */
const NETWORK_PROGRAMS: ReadonlyMap<string, NetworkRow> = new Map([
  ...networkRow('curl', 'all', {
    values: `-o --output -d --data --data-raw --data-binary --data-urlencode --json -H --header -X --request -F --form -A
      --user-agent -e --referer -u --user -b --cookie -c --cookie-jar -T --upload-file -w --write-out -m --max-time
      --connect-timeout --cacert --capath --cert -E --key -r --range -D --dump-header --retry --retry-delay
      --retry-max-time -K --config --output-dir -C --continue-at --limit-rate -y -Y -z --proto --proto-redir
      --max-redirs --ciphers --interface --max-filesize`,
  }),
  ...networkRow('wget', 'all', {
    values: `-O --output-document -o --output-file -a --append-output --header -U --user-agent -P --directory-prefix -t
      --tries -T --timeout --post-data --post-file --user --password -i --input-file -A -R -l --level -w --wait`,
  }),
  ...networkRow('aria2c', 'all', { values: '-o -d --out --dir -x -s -j' }),
  ...networkRow('ssh', 'first', {
    values: '-i -l -p -o -F -L -R -D -b -c -e -m -S -W -E',
    hostOptions: '-J',
  }),
  ...networkRow('sftp', 'first', { values: '-i -l -P -o -F -S -c -b', hostOptions: '-J' }),
  ...networkRow('scp', 'paths', { values: '-i -l -P -o -F -S -c', hostOptions: '-J' }),
  ...networkRow('rsync', 'paths', { values: '-e --rsh --exclude --include' }),
  ...networkRow('ping ping6 traceroute mtr', 'first', { values: '-c -i -I -s -t -W -w -m -q' }),
  ...networkRow('nc ncat netcat', 'first', { values: '-p -s -w -i -X -e', hostOptions: '-x' }),
  ...networkRow('telnet ftp whois http https xh', 'first', {}),
  ...networkRow('dig host nslookup', 'all', { values: '-t -p -c -b' }),
]);

function networkRow(
  names: string,
  takes: NetworkRow['takes'],
  { values = '', hostOptions = '' }: { readonly values?: string; readonly hostOptions?: string },
): readonly (readonly [string, NetworkRow])[] {
  const row = { takes, values: wordSet(values), hostOptions: wordSet(hostOptions) };
  return names.split(' ').map((name) => [name, row]);
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/).filter((word) => word !== ''));
}
