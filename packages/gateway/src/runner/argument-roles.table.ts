/**
 * What the arguments of common programs are: which are patterns, programs or texts and not paths, and which are commands
 * of their own. A program without a row, and an argument that no row describes, is read as anything it could mean.
 *
 * A row lists options as `-n` (no value), `-e=text` (a value and what it is), `-i?any` (a value only where it is
 * attached) and `-0#` (digits may be attached). Only rows that say something of operands need all of their options: with
 * one that is not listed, any operand could be its value, so all are read.
 */

/**
 * What an argument is for its program: anything that it could mean; a text, pattern or format, which names neither paths
 * nor hosts; code, in which URLs are found and paths are not; or a shell line.
 */
export type ArgumentRole = 'any' | 'text' | 'code' | 'line';

export type ProgramRow = {
  /** Without version; `git-commit` is `git commit`. */
  readonly names: string;
  readonly sentence: string;
  readonly options?: string;
  /** What the first operand is, unless one of the options `instead` is given. */
  readonly first?: ArgumentRole;
  readonly instead?: string;
  /** What all operands are. */
  readonly operands?: ArgumentRole;
  /** The operands from this one on are a command. */
  readonly command?: number;
  /** Options end at the first operand; what follows belongs to a script or a command. */
  readonly isOptionsFirst?: true;
  /** What `NAME:PATH` names is elsewhere: on another host, or in another revision. */
  readonly isColonRemote?: true;
};

const GREP_FLAGS = `-a -b -c -E -F -G -H -h -i -I -l -L -n -o -P -q -r -R -s -T -u -U -v -V -w -x -y -z -Z -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 --color?text --colour?text
  --count --line-number --ignore-case --recursive --files-with-matches --files-without-match --invert-match
  --word-regexp --line-regexp --only-matching --no-filename --with-filename --quiet --silent --no-messages --text
  --extended-regexp --fixed-strings --perl-regexp --basic-regexp --null --line-buffered`;
const GREP_VALUES = `-e=text --regexp=text -f=any --file=any -A=text -B=text -C=text -m=text -d=text -D=text
  --include=text --exclude=text --exclude-dir=text --exclude-from=any --after-context=text --before-context=text
  --context=text --max-count=text`;

export const ARGUMENT_ROLES: readonly ProgramRow[] = [
  {
    names: 'sh ash bash dash ksh mksh zsh',
    sentence: 'The value of -c is a line.',
    options: '-c=line -o=text -O=text -e -u -x -l -i -s -v -n -f -a -m -C --login --norc --noprofile --posix',
    isOptionsFirst: true,
  },
  { names: 'eval', sentence: 'The operands are a line.', operands: 'line' },
  {
    names: 'sed gsed',
    sentence: 'The first operand is a program, unless an option gives one.',
    options: `-n -E -r -s -u -z -i?any -I?any -e=text --expression=text -f=any --file=any -l=text --quiet --silent
      --in-place?any --regexp-extended --null-data --posix --debug --separate --unbuffered`,
    first: 'text',
    instead: '-e --expression -f --file',
  },
  {
    names: 'awk gawk mawk nawk',
    sentence: 'The first operand is a program, unless an option gives one; -F is a separator, -v a variable.',
    options: `-F=text --field-separator=text -v=text --assign=text -f=any --file=any -e=text --source=text`,
    first: 'text',
    instead: '-f --file -e --source',
    isOptionsFirst: true,
  },
  {
    names: 'grep egrep fgrep zgrep',
    sentence: 'The first operand is a pattern, unless an option gives one.',
    options: `${GREP_FLAGS} ${GREP_VALUES}`,
    first: 'text',
    instead: '-e --regexp -f --file',
  },
  {
    names: 'rg',
    sentence: 'The first operand is a pattern, unless an option gives one or only files are listed.',
    options: `-a -c -F -H -i -I -l -L -n -N -o -p -P -q -s -S -u -U -v -w -x -z -0 -. -e=text --regexp=text -f=any --file=any
      -A=text -B=text -C=text -m=text -g=text --glob=text --iglob=text -t=text --type=text -T=text --type-not=text
      -r=text --replace=text -M=text -j=text -E=text -d=text --max-depth=text --max-count=text --sort=text --files
      --count --hidden --no-ignore --no-ignore-vcs --line-number --no-line-number --files-with-matches --ignore-case
      --multiline --fixed-strings --word-regexp --only-matching --no-heading --heading --with-filename --no-filename
      --json --color=text --colors=text --context=text --after-context=text --before-context=text --pcre2 --smart-case
      --case-sensitive --stats --trim --vimgrep --column --invert-match --type-list`,
    first: 'text',
    instead: '-e --regexp -f --file --files --type-list',
  },
  {
    names: 'ag ack',
    sentence: 'The first operand is a pattern.',
    options: '-i -l -c -n -w -v -Q -s -S -r -A=text -B=text -C=text -G=text --ignore=text --hidden',
    first: 'text',
  },
  {
    names: 'jq yq gojq',
    sentence: 'The first operand is a filter, unless an option gives one.',
    options: `-r -c -n -s -e -S -M -C -a -j -R -i -P --raw-output --compact-output --null-input --slurp --exit-status
      --sort-keys --raw-input --tab --stream -f=any --from-file=any --arg=text,text --argjson=text,text
      --slurpfile=text,any --rawfile=text,any --indent=text -o=text --output-format=text`,
    first: 'text',
    instead: '-f --from-file',
  },
  {
    names: 'find gfind',
    sentence: 'Names, patterns and formats are not paths; -exec has a command of its own.',
    options: `-name=text -iname=text -path=text -ipath=text -wholename=text -regex=text -iregex=text -lname=text
      -regextype=text -printf=text -type=text -perm=text -size=text`,
  },
  {
    names: 'fd fdfind',
    sentence: 'The first operand is a pattern.',
    options: `-H -I -u -s -i -g -F -a -l -L -p -0 -1 -q -e=text --extension=text -t=text --type=text -E=text --exclude=text
      -d=text --max-depth=text --hidden --no-ignore --glob`,
    first: 'text',
  },
  {
    names: 'git',
    sentence: 'REV:PATH is in a revision and HOST:PATH on a host; formats and patterns are not paths.',
    options: `--format=text --pretty=text --grep=text --author=text --date=text --since=text --until=text -L=text`,
    isColonRemote: true,
  },
  {
    names: 'git-log',
    sentence: 'Also the strings and patterns that are searched for.',
    options:
      '-S=text -G=text --format=text --pretty=text --grep=text --author=text --date=text --since=text --until=text -L=text',
    isColonRemote: true,
  },
  {
    names: 'git-commit git-tag git-merge git-stash git-notes',
    sentence: 'The message is a text.',
    options: '-m=text -am=text --message=text --author=text --date=text --format=text --trailer=text',
    isColonRemote: true,
  },
  {
    names: 'git-config',
    sentence: 'The operands are a key and a value.',
    options: '-f=any --file=any --global --local --get --add --unset --list -l',
    operands: 'text',
  },
  {
    names: 'gh glab',
    sentence: 'Titles, texts and filters are not paths.',
    options:
      '--title=text --body=text --jq=text --template=text --message=text --search=text -q=text -t=text -b=text',
  },
  {
    names: 'scp rsync sftp rclone docker-cp podman-cp',
    sentence: 'NAME:PATH is on another host or in a container.',
    options: '--exclude=text --include=text',
    isColonRemote: true,
  },
  {
    names: 'ssh',
    sentence: 'Behind the host is a line for the other side.',
    options: `-i=any -F=any -o=any -S=any -E=any -l=text -p=text -L=text -R=text -D=text -J=text -b=text -c=text -e=text
      -m=text -W=text -q -v -T -t -N -f -n -A -a -C -X -Y -x -4 -6`,
    operands: 'text',
    isOptionsFirst: true,
  },
  {
    names: 'perl',
    sentence: 'The value of -e is code.',
    options: '-e=code -E=code -n -p -l# -0# -a -w -s -T -c -v -i?any -F?text -M?text -m?text -I=any',
    isOptionsFirst: true,
  },
  {
    names: 'python pypy',
    sentence: 'The value of -c is code.',
    options: '-c=code -m=text -W=text -X=text -u -B -O -s -S -E -I -v -q -i',
    isOptionsFirst: true,
  },
  {
    names: 'node nodejs bun',
    sentence: 'The value of -e is code.',
    options: '-e=code --eval=code -p=code --print=code -pe=code',
    isOptionsFirst: true,
  },
  {
    names: 'ruby lua luajit rscript julia osascript',
    sentence: 'The value of -e is code.',
    options: '-e=code -n -p -l -a -w -i?any',
    isOptionsFirst: true,
  },
  { names: 'php', sentence: 'The value of -r is code.', options: '-r=code', isOptionsFirst: true },
  { names: 'psql', sentence: 'The value of -c is a statement.', options: '-c=text --command=text' },
  { names: 'mysql mariadb', sentence: 'The value of -e is a statement.', options: '-e=text --execute=text' },
  {
    names: 'echo printf',
    sentence: 'What is printed is a text.',
    options: '-n -e -E -v=text',
    operands: 'text',
    isOptionsFirst: true,
  },
  {
    names: 'tr expr seq sleep kill pkill pgrep basename dirname',
    sentence: 'Texts, which open nothing.',
    options: '-d -s?text -c -C -t -f -w -a -z -9 -0 -l -x -n -u -15 -TERM -KILL -INT -HUP',
    operands: 'text',
  },
  {
    names: 'export local declare typeset readonly set unset alias trap return exit read getopts umask ulimit',
    sentence: 'They set the shell up.',
    options: '-e -u -x -o=text -a -r -f -g -p -n -i -A -s -t=text -d=text',
    operands: 'text',
  },
  {
    names: 'date',
    sentence: 'The operand is a format, -d a date.',
    options: '-d=text --date=text -u -I?text -R -r=any -f=any --utc --iso-8601?text',
    operands: 'text',
  },
  {
    names: '[ [[ test',
    sentence: 'Only the operand of a test of a file is a path.',
    options: `-e=any -f=any -d=any -s=any -r=any -w=any -x=any -L=any -h=any -b=any -c=any -p=any -S=any -n -z -eq -ne -lt -le
      -gt -ge -o -a -v=text -t=text`,
    operands: 'text',
  },
  {
    names: 'cut',
    sentence: 'A delimiter is not a path.',
    options: '-d=text --delimiter=text --output-delimiter=text -f=text',
  },
  { names: 'sort join', sentence: 'A separator is not a path.', options: '-t=text --field-separator=text' },
  { names: 'paste', sentence: 'A delimiter is not a path.', options: '-d=text --delimiters=text' },
  { names: 'column', sentence: 'A separator is not a path.', options: '-s=text --separator=text -t' },
  {
    names: 'tar bsdtar',
    sentence: 'Patterns are not paths.',
    options: '--exclude=text --transform=text --xform=text',
  },
  { names: 'tree', sentence: 'Patterns are not paths.', options: '-I=text -P=text' },
  { names: 'ls', sentence: 'Patterns are not paths.', options: '-I=text --ignore=text --hide=text' },
  { names: 'du', sentence: 'Patterns are not paths.', options: '--exclude=text' },
  {
    names: 'diff',
    sentence: 'Patterns and labels are not paths.',
    options: '-x=text --exclude=text --label=text',
  },
  {
    names: 'env',
    sentence: 'Behind the assignments is a command.',
    options: '-i -0 -v -u=text --unset=text -C=any --chdir=any -S=line --ignore-environment',
    command: 0,
  },
  {
    names: 'timeout gtimeout',
    sentence: 'Behind the duration is a command.',
    options: '-s=text --signal=text -k=text --kill-after=text --preserve-status --foreground -v',
    command: 1,
  },
  { names: 'nice', sentence: 'The operands are a command.', options: '-n=text', command: 0 },
  { names: 'ionice', sentence: 'The operands are a command.', options: '-c=text -n=text', command: 0 },
  {
    names: 'stdbuf',
    sentence: 'The operands are a command.',
    options: '-i=text -o=text -e=text',
    command: 0,
  },
  { names: 'time', sentence: 'The operands are a command.', options: '-p -v -a -f=text -o=any', command: 0 },
  {
    names: 'nohup setsid unbuffer builtin',
    sentence: 'The operands are a command.',
    options: '',
    command: 0,
  },
  { names: 'command exec', sentence: 'The operands are a command.', options: '-v -V -p -c -l', command: 0 },
  {
    names: 'sudo doas',
    sentence: 'The operands are a command.',
    options: '-u=text -g=text -E -n -H -S',
    command: 0,
  },
  {
    names: 'xargs gxargs',
    sentence: 'The operands are a command.',
    options: `-0 -r -t -p -x -n=text -P=text -L=text -I=text -d=text -s=text -a=any -E=text --null --no-run-if-empty
      --max-args=text --max-procs=text --delimiter=text --arg-file=any`,
    command: 0,
  },
  {
    names: 'watch',
    sentence: 'The operands are a line.',
    options: '-n=text -d -t -b -e -g -c',
    operands: 'line',
    isOptionsFirst: true,
  },
  {
    names: 'flock',
    sentence: 'Behind the file is a command.',
    options: '-n -x -s -u -w=text -c=line',
    command: 1,
  },
];
