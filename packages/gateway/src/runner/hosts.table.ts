/**
 * Programs that take the name of a host as a bare word, and the options of theirs whose next word is none. An option
 * that is missing here makes a word look like a host, which at worst refuses a call in preflight.
 */
const NONE: ReadonlySet<string> = new Set();

function options(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/));
}

export const NETWORK_PROGRAMS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    'curl',
    options(`-o --output -d --data --data-raw --data-binary --data-urlencode --json -H --header -X --request -F --form -A
      --user-agent -e --referer -u --user -b --cookie -c --cookie-jar -T --upload-file -w --write-out -m --max-time
      --connect-timeout --cacert --cert --key -r --range -D --dump-header --retry -K --config --output-dir`),
  ],
  [
    'wget',
    options(`-O --output-document -o --output-file -a --append-output --header -U --user-agent -P --directory-prefix -t
      --tries -T --timeout --post-data --post-file --user --password -i --input-file`),
  ],
  ['ssh', options('-i -l -p -o -F -L -R -D -b -c -e -m -S -W -E')],
  ['scp', options('-i -l -P -o -F -S -c')],
  ['sftp', options('-i -l -P -o -F -S -c -b')],
  ['ping', options('-c -i -I -s -t -W -w')],
  ['nc', options('-p -s -w -i -x -X -e')],
  ['ncat', options('-p -s -w -i -x -X -e')],
  ['netcat', options('-p -s -w -i -x -X -e')],
  ['telnet', NONE],
  ['ftp', NONE],
  ['rsync', options('-e --rsh --exclude --include')],
  ['dig', NONE],
  ['host', NONE],
  ['nslookup', NONE],
  ['whois', NONE],
  ['traceroute', NONE],
  ['mtr', NONE],
  ['socat', NONE],
  ['http', NONE],
  ['https', NONE],
  ['xh', NONE],
  ['aria2c', options('-o -d --out --dir')],
]);
