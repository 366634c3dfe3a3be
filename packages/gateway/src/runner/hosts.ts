import { basename } from 'node:path';

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
